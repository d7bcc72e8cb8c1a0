// The file of the signing key: for its owner alone, made at the first start.
import { makeSecretFile, readSecretFile } from '../util/secret-file.ts'
import { type AuditKey, makeKeyText, readAuditKey } from './audit-key.ts'

/** The key in the file. Where there is none, one is made with `make`; without it, that is an error. */
export function openKeyFile(path: string, { make }: { readonly make: boolean }): AuditKey {
  const text = readSecretFile(path, 'the audit key')
  if (text === undefined) {
    if (!make) {
      throw new Error(
        `the audit key ${path} is not there; make one with: openssl genpkey -algorithm ed25519 -out '${path}' && chmod 600 '${path}'`,
      )
    }
    makeSecretFile(path, makeKeyText())
    // Where another start was faster, its key is the one.
    return openKeyFile(path, { make: false })
  }
  try {
    return readAuditKey(text)
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    throw new Error(
      `the audit key ${path} cannot be used: ${why}; put the right file back, or move it away to begin with a new key`,
      { cause: error },
    )
  }
}
