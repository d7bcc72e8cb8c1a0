// The file of the signing key: for its owner alone, made at the first start.
import {
  closeSync,
  existsSync,
  fsyncSync,
  linkSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs'
import { type AuditKey, makeKeyText, readAuditKey } from './audit-key.ts'

/** The key in the file. Where there is none, one is made with `make`; without it, that is an error. */
export function openKeyFile(path: string, { make }: { readonly make: boolean }): AuditKey {
  const found = statSync(path, { throwIfNoEntry: false })
  if (found === undefined) {
    if (!make) {
      throw new Error(
        `the audit key ${path} is not there; make one with: openssl genpkey -algorithm ed25519 -out '${path}' && chmod 600 '${path}'`,
      )
    }
    makeKeyFile(path)
  } else if ((found.mode & 0o077) !== 0) {
    throw new Error(`others can read or change the audit key ${path}; run: chmod 600 '${path}'`)
  }
  try {
    return readAuditKey(readFileSync(path, 'utf8'))
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    throw new Error(
      `the audit key ${path} cannot be used: ${why}; put the right file back, or move it away to begin with a new key`,
      { cause: error },
    )
  }
}

/** The name appears with the whole key behind it: half a key would stop every later start. */
function makeKeyFile(path: string): void {
  const half = `${path}.new`
  rmSync(half, { force: true })
  const file = openSync(half, 'wx', 0o600)
  try {
    writeSync(file, makeKeyText())
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
  try {
    // A link never replaces a file.
    linkSync(half, path)
  } catch (error) {
    // Another start was faster: its key is the one.
    if (!existsSync(path)) throw error
  } finally {
    rmSync(half, { force: true })
  }
}
