/* Somebody who says to the PMIx server of PMIX_SERVER_URI4 that they are rank PMIX_RANK of PMIX_NAMESPACE, and ends that job.
   Exit code 0: the server believed it. */
#include <pmix.h>

int main(void) {
  pmix_proc_t self;
  return PMIx_Init(&self, NULL, 0) != PMIX_SUCCESS || PMIx_Abort(9, "bye", NULL, 0) != PMIX_SUCCESS;
}
