// Which programs of this machine may run: those that the operator listed, found once and run by their whole path.
import { constants } from 'node:fs'
import { access, realpath, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'

/** Where names are looked up, whatever the PATH of the server or of a tool says. */
export const COMMAND_PATH = Object.freeze([
  '/usr/local/sbin',
  '/usr/local/bin',
  '/usr/sbin',
  '/usr/bin',
  '/sbin',
  '/bin',
])

export type FoundCommand =
  | { readonly ok: true; readonly path: string }
  | {
      readonly ok: false
      readonly failure: 'capability-denied' | 'config-invalid'
      readonly message: string
      readonly fix: string
    }

export interface Commands {
  find(command: string): Promise<FoundCommand>
}

/** The list itself; throws for an entry that names no command. */
export function checkCommands(allow: readonly string[]): readonly string[] {
  for (const entry of allow) {
    if (entry.trim() === '' || entry.includes('\0') || (entry.includes('/') && !entry.startsWith('/'))) {
      const fix = 'write a name such as jq, or a whole path such as /usr/bin/jq'
      throw new Error(`cli_allow: '${entry}' is no command. Fix: ${fix}`)
    }
  }
  return allow
}

/** An empty list allows none. */
export function createCommands(list: readonly string[]): Commands {
  const allow = checkCommands(list)
  /** What was found stays: a file that appears earlier in the path later on is not taken for it. */
  const places = new Map<string, string>()

  async function locate(text: string): Promise<string | undefined> {
    const known = places.get(text)
    if (known !== undefined) return known
    const found = text.startsWith('/') ? await fileAt(text) : await inPath(text)
    if (found !== undefined) places.set(text, found)
    return found
  }

  return {
    async find(command) {
      const path = await locate(command)
      const allowed = await Promise.all(allow.map(locate))
      if (path !== undefined && allowed.includes(path)) return { ok: true, path }
      if (path === undefined && allow.includes(command)) {
        const where = command.startsWith('/') ? 'there' : `in ${COMMAND_PATH.join(':')}`
        const message = `spec.cli.command: no program '${command}' is ${where}`
        return { ok: false, failure: 'config-invalid', message, fix: 'The operator installs it.' }
      }
      const message = `'${command}' is not on the list of commands that this server runs`
      const fix = `The operator adds ${command} to cli_allow.`
      return { ok: false, failure: 'capability-denied', message, fix }
    },
  }
}

async function inPath(name: string): Promise<string | undefined> {
  for (const folder of COMMAND_PATH) {
    const found = await fileAt(join(folder, name))
    if (found !== undefined) return found
  }
  return undefined
}

/**
 * Only the folder is followed to where it really is. A program that has many names, as busybox has, is asked by its name
 * which of them it is: to allow `ls` must not allow `rm` because both are one file.
 */
async function fileAt(path: string): Promise<string | undefined> {
  try {
    const place = join(await realpath(dirname(path)), basename(path))
    if (!(await stat(place)).isFile()) return undefined
    await access(place, constants.X_OK)
    return place
  } catch {
    return undefined
  }
}
