# A file as the text of a C++ string literal of several lines, each byte an escape. For scripts that carry files in the program.
function(text_of_file path text)
  file(READ ${path} digits HEX)
  string(REGEX REPLACE "(................................................................)" "\\1\n" digits "${digits}")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "\\\\x\\1" digits "${digits}")
  string(REPLACE "\n" "\"\n\"" digits "${digits}")
  set(${text} "${digits}" PARENT_SCOPE)
endfunction()
