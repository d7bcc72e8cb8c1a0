// Files named on the command line.
import { closeSync, fstatSync, openSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { codeOf } from '../util/error-code.ts'
import { CliError, EXIT, messageOf } from './cli-error.ts'

export function readLocalFile(cwd: string, path: string, limit: number): Uint8Array {
  let file: number | undefined
  try {
    file = openSync(resolve(cwd, path), 'r')
    const { size } = fstatSync(file)
    if (size > limit) {
      throw new CliError(`${path} is larger than ${limit} bytes`, {
        exit: EXIT.invalid,
        fix: 'give a smaller file',
      })
    }
    return readFileSync(file)
  } catch (error) {
    if (error instanceof CliError) throw error
    throw unreadable(path, error)
  } finally {
    if (file !== undefined) closeSync(file)
  }
}

export function unreadable(path: string, error: unknown): CliError {
  return new CliError(`${path} cannot be read: ${messageOf(error)}`, {
    exit: EXIT.usage,
    fix:
      codeOf(error) === 'ENOENT' ? 'check the name and the folder you are in' : 'check that you may read it',
  })
}
