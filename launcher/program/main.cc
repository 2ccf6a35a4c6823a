// The program: what the kernel gave it, then the verb or the link's name that it was called by.
#include <sys/prctl.h>
#include <unistd.h>

#include <cstdio>
#include <string>
#include <vector>

#include "base/environment.h"
#include "base/text.h"
#include "launcher/program/verbs.h"

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv, argv + argc);
  // Of a process that was started through /proc/self/exe the kernel says "exe".
  if (!words.empty()) prctl(PR_SET_NAME, std::string(muster::base_name(words[0])).c_str());
  const auto environment = muster::Environment::from_environ(environ);
  return muster::launcher::run_verb(words, environment, stdout, stderr);
}
