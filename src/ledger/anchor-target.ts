// Where checkpoints can be kept: the newest in a file, all of them in a file, or at an address on the network.
import { closeSync, constants, existsSync, fstatSync, openSync, readSync } from 'node:fs'
import { open, rename } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Egress } from '../egress/egress.ts'
import type { AnchorTarget } from './anchor.ts'
import { type KeptHead, readKeptHead } from './checkpoint.ts'

/** The file holds the newest checkpoint and is replaced as a whole. */
export function headFile(path: string): AnchorTarget {
  const half = `${path}.new`
  return {
    name: path,
    queue: 1,
    async keep(head) {
      await writeDurably(half, 'w', `${JSON.stringify(head)}\n`)
      await rename(half, path)
      await syncFolder(dirname(path))
    },
  }
}

/** The file gets a line per checkpoint. */
export function anchorFile(path: string): AnchorTarget {
  return {
    name: path,
    queue: 64,
    // The empty line keeps one that a crash cut short from running into this one.
    keep: (head) => writeDurably(path, 'a', `\n${JSON.stringify(head)}\n`),
  }
}

/** The address is sent each checkpoint with POST, and takes it by answering with 2xx. */
export function webhook(egress: Egress, url: string): AnchorTarget {
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol))
    throw new Error(
      'the anchor of the audit is no http or https address; write it like https://example.com/anchor',
    )
  return {
    // Not the path and the query: they may hold a secret.
    name: egress.check(url).origin,
    queue: 16,
    async keep(head) {
      const { status } = await egress.send({
        url,
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(head),
      })
      if (status < 200 || status > 299) throw new Error(`it answered with status ${status}`)
    },
  }
}

/** The newest checkpoint in a file of either kind; undefined where there is no file. */
export function lastKeptHead(path: string): KeptHead | undefined {
  if (!existsSync(path)) return undefined
  const lines = readTail(path)
    .split('\n')
    .filter((line) => line.trim() !== '')
  // A crash may have cut the last line short.
  for (const line of lines.reverse()) {
    const head = readKeptHead(line)
    if (head !== undefined) return head
  }
  if (lines.length === 0) return undefined
  throw new Error(`${path} holds no checkpoint that can be read; put the right file back, or move it away`)
}

/** Many times the longest line: a file with a line per second grows large. */
const TAIL_BYTES = 8 * 1024 * 1024

function readTail(path: string): string {
  const file = openSync(path, 'r')
  try {
    const { size } = fstatSync(file)
    const tail = Buffer.alloc(Math.min(size, TAIL_BYTES))
    const read = readSync(file, tail, 0, tail.length, size - tail.length)
    return tail.toString('utf8', 0, read)
  } finally {
    closeSync(file)
  }
}

async function writeDurably(path: string, flags: 'w' | 'a', text: string): Promise<void> {
  const file = await open(path, flags, 0o600)
  try {
    await file.writeFile(text)
    await file.sync()
  } finally {
    await file.close()
  }
}

/** A new name is only on disk once its folder is. */
async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, constants.O_RDONLY)
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}
