// Numbered SQL files of an engine, in order.
import { readdirSync, readFileSync } from 'node:fs'

export interface Migration {
  readonly version: number
  readonly name: string
  readonly sql: string
}

/** Those of a folder; each has the number of its place. */
export function readMigrations(folder: URL): Migration[] {
  const names = readdirSync(folder)
    .filter((name) => name.endsWith('.sql'))
    .sort()
  return names.map((name, index) => {
    const version = Number.parseInt(name, 10)
    if (version !== index + 1) throw new Error(`migration ${name} should have the number ${index + 1}`)
    return { version, name, sql: readFileSync(new URL(name, folder), 'utf8') }
  })
}

/** A database that a newer build has brought further is left alone. */
export function newerSchema(version: number, known: number): string {
  return (
    `the database has schema ${version}, this build of Writ knows schemas up to ${known}: ` +
    'start the newer Writ that wrote it, or restore a backup from before the upgrade'
  )
}
