// What names may look like: they end up in keys, paths and permissions.
import type { Findings } from './problem.ts'

export const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/
export const NAMESPACE = /^[a-z0-9][a-z0-9._-]{0,127}$/

export function isName(text: string): boolean {
  return NAME.test(text)
}

export function isNamespace(text: string): boolean {
  return NAMESPACE.test(text)
}

/** Of every kind. */
export function checkMetadata(
  findings: Findings,
  { name, namespace }: { readonly name: string; readonly namespace?: string | undefined },
): void {
  if (!isName(name)) {
    const rule = 'use 1 to 128 letters, digits, `.`, `_` and `-`, starting with a letter or digit'
    findings.error(['metadata', 'name'], `'${name}' is no valid name`, rule)
  }
  if (namespace !== undefined && !isNamespace(namespace)) {
    const rule = 'use 1 to 128 lower-case letters, digits, `.`, `_` and `-`, starting with a letter or digit'
    findings.error(['metadata', 'namespace'], `'${namespace}' is no valid namespace`, rule)
  }
}
