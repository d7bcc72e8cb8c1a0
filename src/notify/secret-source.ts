// Where secrets of targets come from: a variable or a file that only its owner can read. What they hold is in no message.
import { readFileSync, statSync } from 'node:fs'
import { resolve } from 'node:path'

export interface SecretSource {
  readonly env: Readonly<Record<string, string | undefined>>
  /** What names of files are relative to. */
  readonly folder: string
}

export type SecretResult =
  | { readonly ok: true; readonly value: string }
  | { readonly ok: false; readonly message: string; readonly fix: string }

export function secretOf(
  source: SecretSource,
  from: { readonly env?: string; readonly file?: string },
): SecretResult {
  const found =
    from.env === undefined ? readSecretFile(source, from.file ?? '') : readVariable(source, from.env)
  if (!found.ok || !/[\r\n\0]/.test(found.value)) return found
  return { ok: false, message: 'holds more than one line', fix: 'put the secret alone into it' }
}

function readVariable({ env }: SecretSource, name: string): SecretResult {
  const value = env[name]?.trim()
  if (value !== undefined && value !== '') return { ok: true, value }
  return {
    ok: false,
    message: `names the variable ${name}, which is not set`,
    fix: `set ${name} before the start`,
  }
}

function readSecretFile(source: SecretSource, name: string): SecretResult {
  const path = resolve(source.folder, name)
  const refused = (message: string, fix: string): SecretResult => ({ ok: false, message, fix })
  try {
    const { mode } = statSync(path)
    if ((mode & 0o077) !== 0)
      return refused('names a file that others can read or change', `run: chmod 600 '${path}'`)
    const value = readFileSync(path, 'utf8').trim()
    return value === '' ? refused('names an empty file', 'put the secret into it') : { ok: true, value }
  } catch (error) {
    const { code } = error as { readonly code?: unknown }
    return refused(
      `names a file that cannot be read (${typeof code === 'string' ? code : 'failed'})`,
      `see that ${path} is there and yours`,
    )
  }
}
