// A guide as its readers have it: its text, what it shows, and what its lines write when they are pasted into a shell.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { ROOT } from '../../scripts/repo-files.ts'
import { type Page, readPage } from './markdown.ts'

/** A file of the checkout. */
export function textOf(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8')
}

export function pageOf(path: string): Page {
  return readPage(path, textOf(path))
}

/** The first piece in this language that a page shows, and that holds these words. */
export function shownIn(path: string, language: string, holds = ''): string {
  const found = pageOf(path).fences.find((one) => one.language === language && one.text.includes(holds))
  assert.ok(found, `${path} shows ${language} with '${holds}'`)
  return found.text
}

/** A folder that is there as long as the test. */
export function folderFor(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'writ-guide-'))
  t.after(() => rmSync(folder, { recursive: true, maxRetries: 5 }))
  return folder
}

/** What a shell in the checkout writes when a reader pastes this into it. */
export function paste(
  t: TestContext,
  script: string,
  env: Readonly<Record<string, string>> = {},
): Promise<string> {
  const child = spawn('bash', ['-c', script], {
    cwd: ROOT,
    detached: true,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  t.after(() => {
    try {
      process.kill(-(child.pid ?? 0), 'SIGKILL')
    } catch (error) {
      // All of it has ended, as it should.
      assert.equal((error as NodeJS.ErrnoException).code, 'ESRCH')
    }
  })
  let written = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      written += text
    })
  }
  return new Promise((resolve) => child.once('close', () => resolve(written)))
}

export interface GuideLines {
  readonly path: string
  /** The folder of data that the lines name: each test has one of its own instead. */
  readonly data: string
  /** Which of the shell lines of the page. @default the first */
  readonly holds?: string
}

/** Pastes the shell lines of a guide. */
export async function follow(
  t: TestContext,
  { path, data, holds }: GuideLines,
): Promise<{ readonly written: string; readonly data: string }> {
  const script = shownIn(path, 'sh', holds)
  assert.ok(script.includes(`WRIT_DATA=${data}`), `${path} keeps its data in ${data}`)
  const own = folderFor(t)
  return { written: await paste(t, script.replace(data, own)), data: own }
}

export function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer()
      .once('error', () => resolve(false))
      .listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })
}
