// The keys that wrap the data keys of secrets: where they come from, and which of them is the newest.
import { derivedKey, KEY_BYTES } from './seal.ts'

export interface MasterKey {
  /** Says which one it is, and nothing about it. */
  readonly id: string
  /** Wraps data keys. */
  readonly wrapping: Uint8Array
}

/** The newest first: it seals; the others still open what they have sealed. */
export type MasterKeys = readonly [MasterKey, ...MasterKey[]]

export interface MasterKeySource {
  /** For messages: `file PATH`, `variable NAME`. Never a key. */
  readonly where: string
  /** Throws `MasterKeyUnavailable` where it cannot be read. */
  read(): Promise<MasterKeys>
  /** Something that differs once `read` would. Absent: it has to be read to know. */
  stamp?(): string
  /** Adds a key, the newest from now on. False where this process cannot: whoever keeps the source does that. */
  add(): Promise<boolean>
}

/** `message` says how to mend it, and never holds a key. */
export class MasterKeyUnavailable extends Error {
  override readonly name = 'MasterKeyUnavailable'
}

/** More than this is a file of something else, or a rotation that nobody cleans up after. */
export const MAX_KEYS = 32

export function masterKeyOf(bytes: Uint8Array): MasterKey {
  return Object.freeze({
    id: derivedKey(bytes, 'writ master key id v1', 8).toString('hex'),
    wrapping: derivedKey(bytes, 'writ master key wrapping v1'),
  })
}

/** One key to a line, the newest first: 32 bytes in base64, base64url or hex. */
export function readMasterKeys(text: string, where: string): MasterKeys {
  const lines = text
    .split(/\r?\n/)
    .map((line) => line.trim())
    .filter((line) => line !== '')
  if (lines.length > MAX_KEYS)
    throw new MasterKeyUnavailable(
      `the master key in ${where} has ${lines.length} lines. Fix: keep at most ${MAX_KEYS} keys, the newest first`,
    )
  const keys = lines.map((line, at) => {
    const bytes = bytesOf(line)
    if (bytes !== undefined) return masterKeyOf(bytes)
    throw new MasterKeyUnavailable(
      `the master key in ${where} cannot be used: line ${at + 1} is not 32 bytes in base64 or hex. Fix: put one key on a line, such as from 'openssl rand -base64 32'`,
    )
  })
  const [newest, ...others] = keys
  if (newest === undefined)
    throw new MasterKeyUnavailable(
      `the master key in ${where} is empty. Fix: put a key into it, such as from 'openssl rand -base64 32'`,
    )
  return [newest, ...others]
}

function bytesOf(line: string): Buffer | undefined {
  if (/^[0-9A-Fa-f]{64}$/.test(line)) return Buffer.from(line, 'hex')
  if (!/^[A-Za-z0-9+/_-]{43}=?$/.test(line)) return undefined
  const bytes = Buffer.from(line, 'base64url')
  return bytes.length === KEY_BYTES ? bytes : undefined
}
