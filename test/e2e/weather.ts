// Disks that fill up or turn read-only under a real server, and a tool that counts what really happened.
import { execFile, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { promisify } from 'node:util'

const run = promisify(execFile)

export interface Disk {
  /** Where it is mounted. */
  readonly path: string
  /** `mount` with these options: what is on it stays. */
  remount(options: string): Promise<void>
  /** Takes it down and mounts it anew, as an operator does with a disk that failed. */
  again(): Promise<void>
}

/** A disk in memory that takes `size` and no more. Undefined where none can be mounted: the test is then skipped. */
export function smallDisk(t: TestContext, size: string): Disk | undefined {
  return mountDisk(t, () => ['-t', 'tmpfs', '-o', `size=${size},mode=700`, 'tmpfs'])
}

/** A disk with a real file system, which `remount('abort')` turns read-only under whoever has files open in it. */
export function journaledDisk(t: TestContext): Disk | undefined {
  return mountDisk(t, (folder) => {
    const image = join(folder, 'image')
    const made = spawnSync('mke2fs', ['-q', '-F', '-t', 'ext4', image, '16m'], { encoding: 'utf8' })
    return made.status === 0 ? ['-o', 'loop', image] : (made.error?.message ?? made.stderr)
  })
}

/** `prepare` gives the arguments of the mount, or why there can be none. */
function mountDisk(
  t: TestContext,
  prepare: (folder: string) => readonly string[] | string,
): Disk | undefined {
  const folder = mkdtempSync(join(tmpdir(), 'writ-disk-'))
  const path = join(folder, 'mount')
  mkdirSync(path)
  const end = () => {
    // Lazily: a process that is still at work in there must not keep the mount.
    spawnSync('umount', ['--lazy', path])
    rmSync(folder, { recursive: true, force: true })
  }
  // Also where the whole run is ended before the hooks of its tests.
  process.once('exit', end)
  t.after(() => {
    process.off('exit', end)
    end()
  })
  const args = prepare(folder)
  const mounted = typeof args === 'string' ? args : spawnSync('mount', [...args, path], { encoding: 'utf8' })
  if (typeof mounted === 'string' || mounted.status !== 0) {
    const reason = typeof mounted === 'string' ? mounted : (mounted.error?.message ?? mounted.stderr)
    t.skip(
      `no disk can be mounted here (${reason.trim().split('\n')[0]}). Fix: run as root on Linux with mount and e2fsprogs, in a container with --privileged`,
    )
    return undefined
  }
  return {
    path,
    async remount(options) {
      await run('mount', ['-o', `remount,${options}`, path])
    },
    async again() {
      await run('umount', [path])
      await run('mount', [...args, path])
    },
  }
}

export interface CountingTool {
  readonly url: string
  /** How often it did what a call asks for, by the name that the call's input gives. */
  readonly effects: ReadonlyMap<string, number>
  /** Answers what it keeps waiting: calls whose input says `hold`. */
  release(): void
}

export async function startCountingTool(t: TestContext): Promise<CountingTool> {
  const effects = new Map<string, number>()
  const released = Promise.withResolvers<void>()
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const { name, hold } = JSON.parse(Buffer.concat(chunks).toString()) as { name: string; hold?: true }
    effects.set(name, (effects.get(name) ?? 0) + 1)
    if (hold) await released.promise
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ did: name }))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    released.resolve()
    server.closeAllConnections()
    server.close()
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  return { url, effects, release: () => released.resolve() }
}
