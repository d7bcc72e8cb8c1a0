// How a manifest names a secret: `[namespace/]name[:key]`.

const SECRET_REF =
  /^(?:([a-z0-9][a-z0-9._-]{0,127})\/)?([A-Za-z0-9][A-Za-z0-9._-]{0,127})(?::([A-Za-z0-9._-]{1,128}))?$/

export interface NamedSecret {
  readonly namespace: string
  readonly name: string
  readonly key?: string
}

/** undefined: it names none. Without a namespace it is one of `own`. */
export function readSecretRef(text: string, own: string): NamedSecret | undefined {
  const match = SECRET_REF.exec(text)
  if (match === null) return undefined
  const [, namespace = own, name = '', key] = match
  return { namespace, name, ...(key === undefined ? {} : { key }) }
}
