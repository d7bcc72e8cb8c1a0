// Names in rules: a name, or the beginning of one with `*` after it.

export function isPattern(text: string): boolean {
  return text.endsWith('*')
}

export function matchesName(pattern: string, name: string): boolean {
  return isPattern(pattern) ? name.startsWith(pattern.slice(0, -1)) : pattern === name
}

/** A list that is empty says nothing about the name, so it matches. */
export function matchesNames(patterns: readonly string[], name: string): boolean {
  return patterns.length === 0 || patterns.some((pattern) => matchesName(pattern, name))
}
