// Secrets in files, FOLDER/NAMESPACE/NAME/KEY: as Kubernetes mounts them, and as anybody can lay them out.
import { createHmac } from 'node:crypto'
import { constants } from 'node:fs'
import { open, readdir, realpath, stat } from 'node:fs/promises'
import { resolve, sep } from 'node:path'
import { isName, isNamespace } from '../../resource/name.ts'
import { MAX_VALUE_BYTES } from '../../resource/secret.ts'
import { type SecretMaterial, type SecretRef, SecretUnavailable } from '../credential.ts'
import { type ProviderFactory, readValues, textOf } from './provider.ts'

export interface FileSettings {
  readonly type: 'file'
  readonly folder: string
}

/** Names that begin with two dots are how a mount swaps all files at once. */
const KEY = /^(?!\.\.)[A-Za-z0-9._-]{1,253}$/
const MAX_KEYS = 256
/** Others may not read it, and nobody but its owner may change it. */
const FORBIDDEN_RIGHTS = 0o027
const SWAPPED = '..data'

export const createFileProvider: ProviderFactory<FileSettings> = ({ folder }, { world, folder: base }) => {
  const root = resolve(base, folder)
  // Of this process alone: the version says that something changed, and nothing about what.
  const versionKey = world.secret(32)
  return {
    name: 'file',
    async read(ref) {
      if (!isNamespace(ref.namespace) || !isName(ref.name)) return undefined
      try {
        return await readFolder(root, ref, versionKey)
      } catch (error) {
        if (error instanceof SecretUnavailable) throw error
        const code = error instanceof Error && 'code' in error ? String(error.code) : 'failed'
        if (code === 'ENOENT' || code === 'ENOTDIR') return undefined
        throw new SecretUnavailable(
          `${where(ref)} cannot be read (${code}). Fix: see that the server may read it`,
        )
      }
    },
  }
}

async function readFolder(
  root: string,
  ref: SecretRef,
  versionKey: string,
): Promise<SecretMaterial | undefined> {
  const realRoot = await realpath(root)
  const folder = await realpath(`${root}${sep}${ref.namespace}${sep}${ref.name}`)
  if (!isInside(folder, realRoot)) throw leadsOut(ref)
  // Where a mount swaps its files, all are read from the same one: never a user of before with a password of after.
  const swapped = await realpath(`${folder}${sep}${SWAPPED}`).catch(() => folder)
  if (!isInside(swapped, folder) && swapped !== folder) throw leadsOut(ref)
  const found: [string, string][] = []
  const names = (await readdir(swapped)).filter((name) => KEY.test(name)).toSorted()
  if (names.length > MAX_KEYS) throw new SecretUnavailable(`${where(ref)} has more than ${MAX_KEYS} files`)
  for (const name of names) {
    const path = await realpath(`${swapped}${sep}${name}`)
    if (!isInside(path, folder)) throw leadsOut(ref)
    if (!(await stat(path)).isFile()) continue
    found.push([name, await readValue(path, `${where(ref)}, ${name},`)])
  }
  const values = readValues(found, where(ref))
  if (Object.keys(values).length === 0) return undefined
  const version = createHmac('sha256', versionKey).update(JSON.stringify(values)).digest('base64url')
  return { values, version: version.slice(0, 22) }
}

async function readValue(path: string, what: string): Promise<string> {
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW)
  try {
    const { mode, size } = await file.stat()
    if ((mode & FORBIDDEN_RIGHTS) !== 0)
      throw new SecretUnavailable(
        `${what} can be read by others, or changed by its group. Fix: chmod 640 it, or mount it with defaultMode 0440`,
      )
    if (size > MAX_VALUE_BYTES)
      throw new SecretUnavailable(`${what} is larger than ${MAX_VALUE_BYTES} bytes. Fix: name another file`)
    const text = textOf(await file.readFile())
    if (text === undefined) throw new SecretUnavailable(`${what} is no text in UTF-8. Fix: encode it as text`)
    return text
  } finally {
    await file.close()
  }
}

function isInside(path: string, folder: string): boolean {
  return path.startsWith(folder.endsWith(sep) ? folder : folder + sep)
}

function leadsOut(ref: SecretRef): SecretUnavailable {
  return new SecretUnavailable(`${where(ref)} leads out of its folder. Fix: put the files themselves there`)
}

/** Without the path of the folder: whoever calls a tool may read it. */
function where({ namespace, name }: SecretRef): string {
  return `the file of secret ${namespace}/${name}`
}
