// docs/reference/contracts.md lists the rows of the table of contracts, in their order.
#include <gtest/gtest.h>

#include <algorithm>

#include "launcher/contracts/read_contract.h"
#include "launcher/options/contract_names.h"
#include "tests/support/pages.h"

namespace muster::launcher {
namespace {

std::string cell(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '*' || c == '_' || c == '<' || c == '|') escaped += '\\';
    escaped += c;
  }
  return escaped;
}

TEST(ContractPage, HasARowForEachControllerInTheOrderInWhichTheyAreAsked) {
  std::string page = made_from("the table of contracts (launcher/contracts/read_contract.cc)") +
                     "\n# How a controller is recognised\n\n"
                     "The first row whose marks a pod has is its contract. What each says is on "
                     "[the page of controllers](../controllers.md).\n\n"
                     "| `--contract` | Controller | Marks of its pods |\n|---|---|---|\n";
  for (const ContractRow& row : contract_rows())
    page += "| `" + std::string(row.name) + "` | " + cell(row.controller) + " | " +
            cell(row.marks) + " |\n";
  expect_page("contracts.md", page);
}

TEST(ContractPage, EveryNameOfTheFlagHasARow) {
  for (const std::string_view name : kContractNames) {
    if (name == kAutoContract || name == kNoContract) continue;
    EXPECT_NE(std::ranges::find(contract_rows(), name, &ContractRow::name), contract_rows().end())
        << name;
  }
}

}  // namespace
}  // namespace muster::launcher
