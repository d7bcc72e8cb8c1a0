// writ secret: values come from standard input, files and variables, and nothing shows one again.
import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { type ServerCommands, startServerCommands } from './server-commands.ts'
import { runWrit, startUp } from './writ-process.ts'

const CANARY = 'canary-value-0001'

describe('writ secret', () => {
  let s: ServerCommands
  before(async () => {
    s = await startServerCommands()
  })
  after(() => s.close())

  it('sets values from standard input, a file and a variable, each beside the others', async () => {
    const piped = await s.writ('secret set api', { input: `${CANARY}\n` })
    assert.deepEqual([piped.code, piped.out], [0, 'secret api value set\n'], piped.err)
    writeFileSync(join(s.cwd, 'user.txt'), 'canary-user-1\n')
    assert.equal((await s.writ('secret set api --key user --from-file user.txt')).code, 0)
    const env = { ...s.env, PASSWORD: 'canary-password' }
    const third = await s.writ('secret set api --key password --from-env PASSWORD --share-with blue', { env })
    assert.equal(third.code, 0, third.err)
    const again = await s.writ('secret set api', { input: CANARY })
    assert.equal(again.out, 'secret api value unchanged\n')
    const list = await s.writ('secret list')
    assert.match(list.out, /^NAME +KEYS +SHARED WITH +AGE\napi +value, user, password +blue /m)
    for (const line of ['secret list -o json', 'get secrets -o yaml', 'describe secret api']) {
      const { code, out } = await s.writ(line)
      assert.equal(code, 0)
      assert.match(out, /\*\*\*/)
      assert.ok(!out.includes('canary') && !out.includes('sealing'), out)
    }
  })

  it('what is listed as YAML is edited and applied, and only what was edited changes', async () => {
    const yaml = (await s.writ('get secrets api -o yaml')).out
    writeFileSync(join(s.cwd, 'again.yaml'), yaml)
    assert.match((await s.writ('apply -f again.yaml')).out, /Secret default\/api unchanged/)
    writeFileSync(join(s.cwd, 'again.yaml'), yaml.replace(/user: "\*\*\*"/, `user: ${btoa('canary-user-2')}`))
    const diff = await s.writ('diff -f again.yaml')
    assert.match(diff.out, /^- spec\.data\.user: "\*\*\*"\n\+ spec\.data\.user: "\*\*\*"$/m)
    assert.ok(!diff.out.includes('spec.data.value'))
    assert.match((await s.writ('apply -f again.yaml')).out, /Secret default\/api updated/)
  })

  it('refuses what is no value, and repeats none', async () => {
    const cases: readonly [string, string, number, RegExp][] = [
      ['secret set api', '', 2, /the value is empty/],
      ['secret set api', 'short', 3, /has 5 bytes/],
      ['secret set api --from-env NONE', '', 2, /NONE is not set/],
      ['secret set api --from-env A --from-file b', '', 2, /given twice/],
      ['secret set api --from-file none.txt', '', 2, /cannot be read/],
      ['secret set ../api', CANARY, 3, /is no valid name/],
      [`secret set api ${CANARY}`, '', 2, /./],
      ['secret delete none', '', 7, /No secret 'none'/],
    ]
    for (const [line, input, code, why] of cases) {
      const said = await s.writ(line, { input })
      assert.equal(said.code, code, `${line}: ${said.err}`)
      assert.match(said.err, why)
    }
  })

  it('rotates the master key, and deletes', async () => {
    const rotated = await s.writ('secret rotate-key -o json')
    assert.equal(rotated.code, 0, rotated.err)
    const { added, rewrapped, unused, left } = JSON.parse(rotated.out)
    assert.deepEqual([added, rewrapped, unused.length, left], [true, 1, 1, 0])
    assert.equal((await s.writ('secret delete api')).out, 'secret api deleted\n')
    assert.match((await s.writ('secret list')).out, /No secrets/)
  })
})

describe('writ up', () => {
  const root = mkdtempSync(join(tmpdir(), 'writ-up-secret-'))
  after(() => rmSync(root, { recursive: true, force: true }))
  const production = {
    WRIT_PROFILE: 'production',
    WRIT_ADMIN_TOKEN: 'production-token-of-more-than-32-characters',
    WRIT_TOKEN_KEYS: join(root, 'keys.json'),
  }
  const home = (name: string) => {
    mkdirSync(join(root, name, '.writ'), { recursive: true, mode: 0o700 })
    return join(root, name)
  }

  it('makes a master key for its owner alone at the first start, and opens with it at the next', async (t) => {
    const cwd = home('local')
    const first = await startUp({ cwd })
    t.after(() => first.stop('SIGKILL'))
    const set = await runWrit(['secret', 'set', 'api'], { cwd, input: CANARY })
    assert.equal(set.code, 0, set.err)
    const file = join(cwd, '.writ', 'master-key')
    assert.equal(statSync(file).mode & 0o777, 0o600)
    const key = readFileSync(file, 'utf8')
    await first.stop()
    const second = await startUp({ cwd })
    t.after(() => second.stop('SIGKILL'))
    assert.equal(readFileSync(file, 'utf8'), key)
    const rotated = await runWrit(['secret', 'rotate-key'], { cwd })
    assert.deepEqual([rotated.code, /Rewrapped: +1/.test(rotated.out)], [0, true], rotated.err)
    assert.ok(readFileSync(file, 'utf8').endsWith(key), 'the older key stays, after the newer one')
    const { out, err } = await second.stop()
    assert.ok(!`${out}${err}`.includes(CANARY))
  })

  it('S51: in production takes no master key from the data folder, and without one keeps no secret', async (t) => {
    assert.equal((await runWrit(['token', 'rotate', '--file', 'keys.json'], { cwd: root })).code, 0)
    const cwd = home('production')
    const key = `${Buffer.alloc(32, 1).toString('base64')}\n`
    writeFileSync(join(cwd, '.writ', 'master-key'), key, { mode: 0o600 })
    const env = { ...production, WRIT_MASTER_KEY: 'file:.writ/master-key' }
    const refused = await runWrit(['up', '--port', '0'], { cwd, env })
    assert.deepEqual([refused.code, refused.out], [1, ''])
    assert.match(refused.err, /takes no master key from the data folder/)
    const server = await startUp({ cwd: home('none'), env: production })
    t.after(() => server.stop('SIGKILL'))
    const access = { WRIT_URL: server.url, WRIT_TOKEN: production.WRIT_ADMIN_TOKEN }
    const set = await runWrit(['secret', 'set', 'api'], { cwd: root, env: access, input: CANARY })
    assert.equal(set.code, 3)
    assert.match(set.err, /there is no master key.*Fix: .*WRIT_MASTER_KEY/s)
    assert.deepEqual(
      readdirSync(join(root, 'none', '.writ')).filter((name) => name.includes('master-key')),
      [],
    )
    await server.stop()
    const given = { ...production, WRIT_MASTER_KEY: 'env:KEYS', KEYS: key.trim() }
    const other = await startUp({ cwd: home('given'), env: given })
    t.after(() => other.stop('SIGKILL'))
    const there = { WRIT_URL: other.url, WRIT_TOKEN: production.WRIT_ADMIN_TOKEN }
    assert.equal((await runWrit(['secret', 'set', 'api'], { cwd: root, env: there, input: CANARY })).code, 0)
    await other.stop()
  })

  it('does not start with a master key or providers that cannot be used, and says why', async () => {
    const cwd = home('wrong')
    writeFileSync(join(cwd, 'providers.yaml'), '- type: valut\n')
    const cases: readonly [Record<string, string>, number, RegExp][] = [
      [{ WRIT_MASTER_KEY: 'file:none' }, 1, /is not there\. ?Fix|is not there/],
      [{ WRIT_MASTER_KEY: 'env:NONE' }, 1, /NONE is not set/],
      [{ WRIT_MASTER_KEY: 'none' }, 2, /WRIT_MASTER_KEY/],
      [{ WRIT_SECRET_PROVIDERS: 'providers.yaml' }, 1, /providers\.yaml:1:\d+: error: \[0\]\.type/],
    ]
    for (const [env, code, why] of cases) {
      const refused = await runWrit(['up', '--port', '0'], { cwd, env })
      assert.equal(refused.code, code, refused.err)
      assert.match(refused.err, why)
    }
  })
})
