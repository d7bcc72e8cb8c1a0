// The files of the project: what git tracks, and what it would track.
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const ROOT: string = fileURLToPath(new URL('..', import.meta.url))

/** A checkout may belong to another user than the one who runs the checks, as in a container. */
const ANY_OWNER = ['-c', 'safe.directory=*']

export interface RepoFile {
  /** Relative to the root, with forward slashes. */
  readonly path: string
  readonly text: string
}

/** Paths of all files that are tracked, or new and not ignored. */
export function repoPaths(root: string = ROOT): readonly string[] {
  const listed = execFileSync(
    'git',
    [...ANY_OWNER, 'ls-files', '--cached', '--others', '--exclude-standard', '-z'],
    {
      cwd: root,
      encoding: 'utf8',
      maxBuffer: 64 * 1024 * 1024,
    },
  )
  const paths = new Set(listed.split('\0').filter((path) => path !== ''))
  // A file deleted but not yet staged is still listed.
  return [...paths]
    .filter((path) => existsSync(join(root, path)) && statSync(join(root, path)).isFile())
    .sort()
}

/** The text files among them; a NUL byte marks the others. */
export function repoFiles(root: string = ROOT): readonly RepoFile[] {
  return repoPaths(root).flatMap((path) => {
    const text = readFileSync(join(root, path), 'utf8')
    return text.includes('\0') ? [] : [{ path, text }]
  })
}
