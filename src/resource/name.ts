// What names may look like: they end up in keys, paths and permissions.

const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/
const NAMESPACE = /^[a-z0-9][a-z0-9._-]{0,127}$/

export function isName(text: string): boolean {
  return NAME.test(text)
}

export function isNamespace(text: string): boolean {
  return NAMESPACE.test(text)
}
