// What is published: it builds, holds what it should and nothing else, and runs from dist/ alone.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import packageJson from '../package.json' with { type: 'json' }
import lock from '../package-lock.json' with { type: 'json' }
import { build, lintPackage } from '../scripts/build.ts'
import { ROOT } from '../scripts/repo-files.ts'

const run = promisify(execFile)

describe('package.json', () => {
  it('asks for Node 24 and pins the one that development uses', () => {
    assert.equal(packageJson.engines.node, '>=24')
    assert.match(packageJson.devDependencies.node, /^24\.\d+\.\d+$/)
    assert.equal(lock.packages['node_modules/node'].version, packageJson.devDependencies.node)
  })

  it('lets only the package that brings Node run an install script', () => {
    const allowed = Object.entries(packageJson.allowScripts)
    assert.deepEqual(
      allowed.filter(([, may]) => may).map(([name]) => name),
      ['node'],
    )
    // Every other one is named, so that npm has nothing to ask.
    const scripted = Object.entries(lock.packages).filter(([, entry]) => 'hasInstallScript' in entry)
    assert.deepEqual(
      scripted.map(([path]) => path.replace('node_modules/', '')).sort(),
      allowed.map(([name]) => name).sort(),
    )
  })

  it('has a lock file that names no registry and has an integrity hash for every package', () => {
    const remote = Object.entries(lock.packages).filter(([path]) => path !== '')
    assert.ok(remote.length > 50)
    for (const [path, entry] of remote) {
      assert.ok(
        !('resolved' in entry),
        `${path} names a host. Fix: npm install --omit-lockfile-registry-resolved`,
      )
      // A platform's own build that not every registry carries is named, so that `npm ci` finds the lock complete.
      const foreign = 'optional' in entry && 'os' in entry
      assert.ok('integrity' in entry || foreign, `${path} has no integrity hash`)
    }
  })

  it('has a lock file that is complete: npm ci refuses one that lacks an optional package', () => {
    for (const [path, entry] of Object.entries(lock.packages)) {
      for (const name of Object.keys(
        (entry as { optionalDependencies?: object }).optionalDependencies ?? {},
      )) {
        assert.ok(
          `node_modules/${name}` in lock.packages,
          `${path} wants ${name}, which is not in the lock file`,
        )
      }
    }
  })
})

describe('the built package', () => {
  let folder: string

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'writ-package-'))
    for (const name of ['package.json', 'bin', 'docs/schema', 'LICENSE', 'README.md', 'CHANGELOG.md']) {
      cpSync(join(ROOT, name), join(folder, name), { recursive: true })
    }
    symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
    await build(join(folder, 'dist'))
  })

  after(() => rmSync(folder, { recursive: true, force: true }))

  it('holds the command, dist and the papers, and no source or test', async () => {
    const { stdout } = await run('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], { cwd: folder })
    const [packed] = JSON.parse(stdout) as [{ files: { path: string; mode: number }[] }]
    const paths = packed.files.map((file) => file.path)
    const papers = paths.filter((path) => !path.startsWith('dist/')).sort()
    assert.deepEqual(papers, [
      'CHANGELOG.md',
      'LICENSE',
      'README.md',
      'bin/writ',
      'docs/schema/writ.schema.json',
      'package.json',
    ])
    assert.deepEqual(
      paths.filter((path) => path.startsWith('dist/') && !/\.(js|js\.map|d\.ts|sql|json)$/.test(path)),
      [],
    )
    assert.ok(
      paths.some((path) => path.endsWith('.sql')),
      'the migrations are there',
    )
    const command = packed.files.find((file) => file.path === 'bin/writ')
    assert.equal((command?.mode ?? 0) & 0o111, 0o111, 'bin/writ can be executed')
  })

  it('gives publint nothing to say', async () => assert.deepEqual(await lintPackage(folder), []))

  it('runs its command from dist', async () => {
    const { stdout } = await run(join(folder, 'bin', 'writ'), ['version', '-o', 'json'])
    assert.equal(JSON.parse(stdout).writ, packageJson.version)
  })

  it('opens a durable store, whose migrations and worker are in dist too', async () => {
    const program = `
      import { createRuntime, defineTool } from 'writ'
      const echo = defineTool({ name: 'echo', spec: { operation_classes: ['read'] }, handler: (input) => input })
      const runtime = await createRuntime({ store: { kind: 'sqlite', path: process.argv[2] }, tools: [echo] })
      const door = runtime.as({ actor: 'test', permissions: ['tool:echo:invoke'] })
      const answer = await door.call({ tool: 'echo', input: { text: 'hello' } })
      await runtime.close()
      console.log(JSON.stringify({ state: answer.state, output: answer.output }))`
    const { stdout } = await run(
      process.execPath,
      ['--input-type=module', '--eval', program, 'x', join(folder, 'writ.db')],
      { cwd: folder },
    )
    assert.deepEqual(JSON.parse(stdout), { state: 'succeeded', output: { text: 'hello' } })
  })

  for (const [subpath, target] of Object.entries(packageJson.exports)) {
    it(`loads writ${subpath.slice(1)}`, async () => {
      const loaded = (await import(pathToFileURL(join(folder, target.default)).href)) as object
      const declared = readFileSync(join(folder, target.types), 'utf8')
      assert.match(declared, /export/)
      assert.ok(subpath === './toolkit' || Object.keys(loaded).length > 0, 'it exports something')
    })
  }
})
