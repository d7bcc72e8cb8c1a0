// The functions that a template can use, by name. Apart from what they do, so that parsing does not need it.

export const FUNCTION_NAMES: readonly string[] = [
  'and',
  'default',
  'eq',
  'ge',
  'gt',
  'html',
  'index',
  'js',
  'json',
  'le',
  'len',
  'lt',
  'ne',
  'not',
  'or',
  'print',
  'printf',
  'println',
  'slice',
  'urlquery',
]
