// What the docs show runs as shown: the programs, and the requests of the README against a real server.
import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { parseAllDocuments } from 'yaml'
import { ROOT } from '../../scripts/repo-files.ts'
import { allPages } from './markdown.ts'

const run = promisify(execFile)
const shown = allPages().filter((page) => page.path === 'README.md' || page.path.startsWith('docs/guide/'))
let folder: string

before(() => {
  folder = mkdtempSync(join(tmpdir(), 'writ-docs-'))
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
})
after(() => rmSync(folder, { recursive: true, force: true }))

describe('programs in the docs', () => {
  const programs = shown.flatMap((page) =>
    page.fences.filter((fence) => fence.language === 'ts').map((fence) => ({ ...fence, path: page.path })),
  )

  it('are there', () => assert.ok(programs.length >= 3))

  for (const { path, line, text } of programs) {
    it(`${path}:${line} runs, and prints what it says`, async () => {
      const file = join(folder, `${path.replaceAll('/', '-')}-${line}.ts`)
      writeFileSync(file, text.replaceAll("'writ'", `'${pathToFileURL(join(ROOT, 'src/index.ts')).href}'`))
      const { stdout } = await run(process.execPath, [file], { timeout: 30_000 })
      const promised = [...text.matchAll(/^console\.log\(.*\) \/\/ (.*)$/gm)].map(([, said]) => said)
      assert.deepEqual(stdout.trimEnd().split('\n'), promised)
    })
  }
})

describe('manifests in the docs', () => {
  it('are valid, each by itself', async () => {
    const manifests = shown.flatMap((page) =>
      page.fences.filter((fence) => fence.language === 'yaml' && fence.text.includes('kind: Tool')),
    )
    assert.ok(manifests.length > 0)
    for (const [at, { text }] of manifests.entries()) {
      assert.deepEqual(
        parseAllDocuments(text).flatMap((document) => document.errors ?? []),
        [],
      )
      const file = join(folder, `manifest-${at}.yaml`)
      writeFileSync(file, text)
      const { stdout, stderr } = await run(join(ROOT, 'bin/writ'), ['validate', '-f', file])
      assert.match(stdout, /valid/)
      assert.equal(stderr, '', 'without a warning')
    }
  })
})

describe('the requests of the README', () => {
  const weather = createServer((request, response) => {
    request.resume()
    request.on('end', () => {
      response.setHeader('content-type', 'application/json')
      response.end('{"city": "Oslo", "degrees": 4}')
    })
  })
  let server: ReturnType<typeof spawn>
  let url: string
  let token: string

  before(async () => {
    weather.listen(0, '127.0.0.1')
    await once(weather, 'listening')
    const data = join(folder, 'data')
    server = spawn(join(ROOT, 'bin/writ'), ['up', '--port', '0', '--data', data, '--log-level', 'silent'], {
      stdio: 'ignore',
    })
    const note = join(data, 'server.json')
    for (let tries = 0; !existsSync(note); tries++) {
      assert.ok(tries < 400, 'the server comes up within 20 s')
      await sleep(50)
    }
    url = JSON.parse(readFileSync(note, 'utf8')).url
    token = readFileSync(join(data, 'admin-token'), 'utf8').trim()
    const manifest = readFileSync(join(ROOT, 'examples/http-tool/tool.yaml'), 'utf8')
    const endpoint = `http://127.0.0.1:${(weather.address() as AddressInfo).port}/`
    const applied = await fetch(`${url}/v1/apply`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/yaml' },
      body: manifest.replace(/endpoint: .*/, `endpoint: ${endpoint}`),
    })
    assert.equal(applied.status, 200, await applied.text())
  })

  after(async () => {
    server.kill('SIGTERM')
    if (server.exitCode === null) await once(server, 'exit')
    weather.closeAllConnections()
    weather.close()
  })

  const readme = shown.find((page) => page.path === 'README.md')
  const bodies = (readme?.fences ?? []).flatMap((fence) =>
    [...fence.text.matchAll(/-d '([^']+)'/g)].map(([, body]) => body),
  )

  it('are three, and each is answered in its own dialect', async () => {
    assert.equal(bodies.length, 3)
    const answers = []
    for (const body of bodies) {
      const response = await fetch(`${url}/v1/calls`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: body ?? '',
      })
      assert.equal(response.status, 200)
      answers.push((await response.json()) as Record<string, unknown>)
    }
    const [v1, legacy, fourOutcome] = answers
    assert.deepEqual([v1?.status, legacy?.status, fourOutcome?.status], ['ok', 'success', 'success'])
    assert.deepEqual(v1?.output, { city: 'Oslo', degrees: 4 })
    assert.deepEqual(legacy?.result, { city: 'Oslo', degrees: 4 })
    assert.deepEqual(fourOutcome?.output, { city: 'Oslo', degrees: 4 })
  })
})
