// The files of a PostgreSQL server for tests: its programs, and a cluster that no one has used yet.
//
// Making them takes longer than most tests do. A run of all tests names a folder in WRIT_TEST_POSTGRES: whoever needs a
// server first makes them there, and the others run these programs on a copy of that cluster.
import { execFileSync, spawnSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { copyBinaries } from './binaries.ts'

export const PASSWORD = 'a-secret-of-the-tests'

export interface Cluster {
  /** The folder of the programs. */
  readonly bin: string
  /** The folder of the data, of one server alone. */
  readonly data: string
}

export interface PlainUser {
  readonly uid: number
  readonly gid: number
}

/** Whom to run as where this process is root; undefined where it is not. */
export function plainUser(): PlainUser | undefined {
  if (process.getuid?.() !== 0) return undefined
  const id = (flag: string) => Number(execFileSync('id', [flag, 'nobody'], { encoding: 'utf8' }))
  return { uid: id('-u'), gid: id('-g') }
}

/** Everything in `folder`, but for what the run of all tests has already. */
export function makeCluster(folder: string, user: PlainUser | undefined): Cluster {
  const shared = process.env.WRIT_TEST_POSTGRES
  if (shared === undefined) return makeAll(folder, user)
  own(shared, user)
  const template = join(shared, 'template')
  if (!existsSync(template)) makeTemplate(shared, template, user)
  const data = join(folder, 'data')
  cpSync(join(template, 'data'), data, { recursive: true })
  // A copy has the usual rights; the server refuses data that others could read.
  chmodSync(data, 0o700)
  for (const path of [folder, data]) own(path, user)
  for (const path of readdirSync(data, { recursive: true, encoding: 'utf8' })) own(join(data, path), user)
  return { bin: join(template, 'bin'), data }
}

/** Several may make it at a time. The first that is done gives it its name, and is followed by the others. */
function makeTemplate(shared: string, template: string, user: PlainUser | undefined): void {
  const folder = mkdtempSync(join(shared, 'new-'))
  makeAll(folder, user)
  try {
    renameSync(folder, template)
  } catch (error) {
    rmSync(folder, { recursive: true, force: true })
    if (!existsSync(template)) throw error
  }
}

function makeAll(folder: string, user: PlainUser | undefined): Cluster {
  const bin = copyBinaries(folder)
  const data = join(folder, 'data')
  mkdirSync(data)
  for (const path of [folder, data]) own(path, user)
  initialise(join(bin, 'initdb'), data, folder, user)
  return { bin, data }
}

function own(path: string, user: PlainUser | undefined): void {
  if (user !== undefined) chownSync(path, user.uid, user.gid)
}

function initialise(initdb: string, data: string, folder: string, user: PlainUser | undefined): void {
  const password = join(folder, 'password')
  writeFileSync(password, `${PASSWORD}\n`)
  const result = spawnSync(
    initdb,
    [
      `--pgdata=${data}`,
      '--username=writ',
      '--auth=scram-sha-256',
      `--pwfile=${password}`,
      '--encoding=UTF8',
      '--locale=C',
      '--no-sync',
    ],
    {
      ...user,
      cwd: folder,
      encoding: 'utf8',
      env: { PATH: process.env.PATH, LC_ALL: 'C', TZ: 'UTC' },
    },
  )
  if (result.status !== 0)
    throw new Error(`initdb failed: ${result.error?.message ?? result.stderr + result.stdout}`)
}
