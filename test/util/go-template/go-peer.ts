// Go's own text/template as a process that is asked line by line. See test/fixtures/go-template/main.go.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { Json } from '../../../src/util/json.ts'

const SOURCE = fileURLToPath(new URL('../../fixtures/go-template', import.meta.url))

export interface GoAnswer {
  readonly ok: boolean
  readonly text: string
  readonly error: string
}

export interface GoPeer {
  render(template: string, data: Json): Promise<GoAnswer>
  close(): Promise<void>
}

/** The peer, or why there is none. */
export function startGoPeer(): GoPeer | string {
  const folder = mkdtempSync(join(tmpdir(), 'writ-go-template-'))
  const program = join(folder, 'go-template')
  try {
    execFileSync('go', ['version'], { stdio: 'ignore' })
  } catch {
    rmSync(folder, { recursive: true, force: true })
    return 'there is no go to compare with. Fix: install Go 1.22 or newer, and put it on the PATH'
  }
  // The toolchain that is there, and nothing from the network.
  const env = { ...process.env, GOTOOLCHAIN: 'local', GOFLAGS: '-mod=mod', GOPROXY: 'off' }
  execFileSync('go', ['build', '-o', program, '.'], { cwd: SOURCE, env })
  const child = spawn(program, { stdio: ['pipe', 'pipe', 'inherit'] })
  return connect(child, child.stdin, child.stdout, () => rmSync(folder, { recursive: true, force: true }))
}

function connect(
  child: ChildProcess,
  stdin: NodeJS.WritableStream,
  stdout: NodeJS.ReadableStream,
  cleanUp: () => void,
): GoPeer {
  const waiting: PromiseWithResolvers<GoAnswer>[] = []
  createInterface({ input: stdout }).on('line', (line) => waiting.shift()?.resolve(JSON.parse(line)))
  const ended = once(child, 'exit')
  child.on('exit', (code) => {
    for (const one of waiting) one.reject(new Error(`the Go program ended with ${code}`))
  })
  return {
    render(template, data) {
      const answer = Promise.withResolvers<GoAnswer>()
      waiting.push(answer)
      stdin.write(`${JSON.stringify({ template, data })}\n`)
      return answer.promise
    },
    async close() {
      stdin.end()
      await ended
      cleanUp()
    },
  }
}
