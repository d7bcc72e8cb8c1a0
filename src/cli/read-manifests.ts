// Manifests named on the command line: a file, a folder, or standard input.
import { existsSync, readdirSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { type ManifestDocument, type Problem, readManifests } from '../resource/manifest.ts'
import type { LoadFile } from '../resource/schema-file.ts'
import { usageError } from './cli-error.ts'
import type { FlagSpec } from './command.ts'
import { readLocalFile, unreadable } from './read-file.ts'
import type { Terminal } from './terminal.ts'

export const MANIFEST_FLAGS = {
  file: {
    type: 'string',
    short: 'f',
    multiple: true,
    description:
      'A manifest file, a folder of them (.yaml, .yml, .json; not its subfolders), or - for standard input.',
    placeholder: 'PATH',
    completes: 'file',
  },
} as const satisfies Record<string, FlagSpec>

/** The reader of manifests refuses less; this only bounds the memory. */
const MAX_FILE_BYTES = 16 * 1024 * 1024

export interface ReadSet {
  readonly documents: readonly ManifestDocument[]
  readonly problems: readonly Problem[]
}

/** Reads everything that is named; files that manifests name are read into them. */
export async function readManifestSet(terminal: Terminal, paths: readonly string[]): Promise<ReadSet> {
  if (paths.length === 0) throw usageError('no manifest is named', 'give a file, a folder or - with -f')
  const sets: ReadSet[] = []
  for (const path of paths) {
    if (path === '-') {
      const text = await terminal.readIn(MAX_FILE_BYTES)
      sets.push(readManifests(text, 'standard input', { load: loadBeside(terminal.cwd) }))
      continue
    }
    for (const file of filesAt(terminal.cwd, path)) {
      const text = readLocalFile(terminal.cwd, file, MAX_FILE_BYTES)
      sets.push(readManifests(text, file, { load: loadBeside(dirname(resolve(terminal.cwd, file))) }))
    }
  }
  return {
    documents: sets.flatMap(({ documents }) => documents),
    problems: sets.flatMap(({ problems }) => problems),
  }
}

function filesAt(cwd: string, path: string): readonly string[] {
  const at = resolve(cwd, path)
  try {
    if (!statSync(at).isDirectory()) return [path]
    const names = readdirSync(at, { withFileTypes: true })
      .filter((entry) => !entry.isDirectory() && /\.(?:ya?ml|json)$/i.test(entry.name))
      .map((entry) => join(path, entry.name))
      .sort()
    if (names.length > 0) return names
  } catch (error) {
    throw unreadable(path, error)
  }
  throw usageError(
    `${path} holds no manifest`,
    'put files that end in .yaml, .yml or .json there, or name a file',
  )
}

/** The reader of manifests has refused every name that leaves the folder before it asks for one. */
function loadBeside(folder: string): LoadFile {
  return (name) => (existsSync(join(folder, name)) ? readLocalFile(folder, name, MAX_FILE_BYTES) : undefined)
}
