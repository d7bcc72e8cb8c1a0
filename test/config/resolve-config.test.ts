// Where settings come from, and what is refused.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { renderConfigDoc } from '../../src/config/config-doc.ts'
import { settingOf } from '../../src/config/config-schema.ts'
import { type ConfigSources, configWarnings, resolveConfig } from '../../src/config/resolve-config.ts'

const TOKEN = 'a'.repeat(32)

function resolve(sources: Partial<ConfigSources>) {
  return resolveConfig({ flags: {}, env: {}, ...sources })
}

function config(sources: Partial<ConfigSources>) {
  const result = resolve(sources)
  assert.ok(result.ok, JSON.stringify(result))
  return result.config
}

function problems(sources: Partial<ConfigSources>) {
  const result = resolve(sources)
  assert.ok(!result.ok, 'nothing was refused')
  return result.problems
}

describe('resolveConfig', () => {
  it('gives the defaults when nothing is set', () => {
    assert.deepEqual(config({}), {
      host: '127.0.0.1',
      port: 7411,
      grpc_port: 0,
      data: '.writ',
      store: 'sqlite',
      store_lease_ms: 10_000,
      store_pool: 8,
      profile: 'local',
      behind_proxy: false,
      token_audience: 'writ',
      effect_default: 'declared',
      drain_ms: 10_000,
      body_limit: 4_194_304,
      log_level: 'info',
      retention_days: 7,
      tombstone_days: 400,
      evidence_days: 0,
      accept_rewound: false,
    })
  })

  it('takes flags over the environment and the environment over defaults', () => {
    const found = config({
      flags: { port: '1' },
      env: { WRIT_PORT: '2', WRIT_HOST: '::1', WRIT_BEHIND_PROXY: 'true' },
    })
    assert.equal(found.port, 1)
    assert.equal(found.host, '::1')
    assert.equal(found.behind_proxy, true)
    assert.equal(found.data, '.writ')
  })

  it('cannot be changed once resolved', () => {
    const found = config({})
    assert.ok(Object.isFrozen(found))
    assert.throws(() => Object.assign(found, { port: 1 }), TypeError)
  })

  it('takes an empty variable for one that is not set', () => {
    assert.equal(config({ env: { WRIT_PORT: '' } }).port, 7411)
  })

  it('takes no empty secret for one that is not set: a ledger of its own would start beside the shared one', () => {
    for (const variable of ['WRIT_STORE', 'WRIT_ADMIN_TOKEN']) {
      const [found, ...more] = problems({ env: { [variable]: '' } })
      assert.equal(found?.source, variable)
      assert.match(found?.message ?? '', /is set and empty/)
      assert.match(found?.fix ?? '', new RegExp(`unset ${variable}`))
      assert.deepEqual(more, [])
    }
  })

  for (const [name, value] of [
    ['WRIT_PORT', '70000'],
    ['WRIT_PORT', '-1'],
    ['WRIT_PORT', '7411.5'],
    ['WRIT_PORT', '1e3'],
    ['WRIT_PORT', 'NaN'],
    ['WRIT_PORT', ' 7411'],
    ['WRIT_PROFILE', 'prod'],
    ['WRIT_BEHIND_PROXY', 'yes'],
    ['WRIT_DRAIN_MS', '-5'],
    ['WRIT_BODY_LIMIT', '99999999999999999999'],
    ['WRIT_LOG_LEVEL', 'loud'],
  ] as const) {
    it(`refuses ${name}=${JSON.stringify(value)} and names it`, () => {
      const [problem, ...rest] = problems({ env: { [name]: value } })
      assert.deepEqual(rest, [])
      assert.equal(problem?.source, name)
      assert.match(problem?.message ?? '', new RegExp(name))
      assert.notEqual(problem?.fix, '')
    })
  }

  it('lists everything that is wrong at once', () => {
    const found = problems({ flags: { port: 'x' }, env: { WRIT_DRAIN_MS: 'y' } })
    assert.deepEqual(
      found.map(({ source }) => source),
      ['--port', 'WRIT_DRAIN_MS'],
    )
  })

  it('proposes the value that was meant', () => {
    assert.match(problems({ env: { WRIT_PROFILE: 'producton' } })[0]?.fix ?? '', /did you mean 'production'/)
  })

  it('refuses a misspelt variable instead of running with the default', () => {
    const [problem] = problems({ env: { WRIT_PROFLE: 'production' } })
    assert.match(problem?.fix ?? '', /WRIT_PROFILE/)
    assert.equal(
      config({ env: { WRIT_SOMETHING_ELSE_ENTIRELY: '1', WRIT_URL: 'http://x' } }).profile,
      'local',
    )
  })

  it('explains the port variable that Kubernetes sets', () => {
    assert.match(problems({ env: { WRIT_PORT: 'tcp://10.0.0.1:7411' } })[0]?.fix ?? '', /enableServiceLinks/)
  })

  it('never repeats a token in a message', () => {
    const found = problems({ env: { WRIT_ADMIN_TOKEN: 'short-secret' } })
    assert.equal(found[0]?.source, 'WRIT_ADMIN_TOKEN')
    assert.doesNotMatch(JSON.stringify(found), /short-secret/)
  })

  it('takes a store by name or by its url, from the environment alone', () => {
    for (const store of ['sqlite', 'memory', 'postgres://u:p@h/db', 'postgresql://h/db']) {
      assert.equal(config({ env: { WRIT_STORE: store } }).store, store)
    }
    assert.equal(settingOf('store').secret, true, 'a flag would show the password in a process list')
  })

  it('never repeats the url of a store in a message', () => {
    for (const store of ['postgre://u:short-secret@h/db', 'short-secret', 'mysql://u:short-secret@h']) {
      const found = problems({ env: { WRIT_STORE: store } })
      assert.equal(found[0]?.source, 'WRIT_STORE')
      assert.match(found[0]?.fix ?? '', /postgres:\/\/USER/)
      assert.doesNotMatch(JSON.stringify(found), /short-secret/)
    }
  })

  it('never throws and never accepts what its schema does not, whatever the environment holds', () => {
    fc.assert(
      fc.property(
        fc.dictionary(
          fc.constantFrom(
            'WRIT_PORT',
            'WRIT_PROFILE',
            'WRIT_BEHIND_PROXY',
            'WRIT_DATA',
            'WRIT_DRAIN_MS',
            '__proto__',
          ),
          fc.string(),
        ),
        (env) => {
          const result = resolve({ env })
          if (result.ok) assert.ok(result.config.port >= 0 && result.config.port <= 65535)
          else assert.ok(result.problems.length > 0)
        },
      ),
      { numRuns: 200 },
    )
  })
})

describe('S51: profile production', () => {
  const production = {
    flags: { profile: 'production', token_keys: 'keys.json' },
    env: { WRIT_ADMIN_TOKEN: TOKEN },
  } as const

  it('starts on loopback with a token from the environment', () => {
    assert.equal(config(production).admin_token, TOKEN)
  })

  it('refuses a start without a token from the environment', () => {
    assert.match(problems({ flags: production.flags })[0]?.fix ?? '', /WRIT_ADMIN_TOKEN/)
  })

  it('refuses a start without token keys that somebody has made', () => {
    const flags = { profile: 'production' } as const
    assert.match(problems({ ...production, flags })[0]?.fix ?? '', /writ token rotate --file/)
  })

  it('refuses a non-loopback host, and takes it behind a proxy', () => {
    for (const host of ['0.0.0.0', '::', '10.1.2.3', 'writ.example']) {
      const flags = { ...production.flags, host }
      assert.match(problems({ ...production, flags })[0]?.message ?? '', /TLS/, host)
      assert.equal(config({ ...production, flags: { ...flags, behind_proxy: true } }).host, host)
    }
    for (const host of ['127.0.0.1', '127.8.8.8', '::1', 'localhost']) {
      assert.equal(config({ ...production, flags: { ...production.flags, host } }).host, host)
    }
  })

  it('refuses a ledger that a restart would forget', () => {
    const env = { ...production.env, WRIT_STORE: 'memory' }
    assert.match(problems({ ...production, env })[0]?.message ?? '', /does not keep its ledger in memory/)
  })

  it('leaves a laptop free to listen anywhere, with a warning', () => {
    assert.deepEqual(configWarnings(config({})), [])
    assert.equal(configWarnings(config({ flags: { host: '0.0.0.0' } })).length, 1)
  })
})

describe('docs/reference/config.md', () => {
  it('is what the schema says; run node scripts/config-doc.ts after a change', () => {
    const page = readFileSync(new URL('../../docs/reference/config.md', import.meta.url), 'utf8')
    assert.equal(page, renderConfigDoc())
  })
})
