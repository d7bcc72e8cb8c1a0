// The voice of tools that send back every credential they are shown, in every form.
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { BLUE_SECRET, CLIENT_SECRET, document } from '../matrix/row-subject.ts'
import type { Voice } from '../matrix/row-voice.ts'
import { createShown } from './echo-peers.ts'
import { echoOf } from './secret-forms.ts'

const BEARER = 'canary/bearer+"one" ~0123456789'
const USER = 'canary-user-0123'
const PASSWORD = 'canary pass/word+0123'
const TOKEN = 'canary-access-token-0123456789/+='

export interface EchoVoice extends Voice {
  /** Everything that must be nowhere. */
  secrets(): readonly string[]
  /** Which tools were shown what. */
  shown(): ReadonlyMap<string, readonly string[]>
  close(): void
}

export function createEchoVoice(): EchoVoice {
  const folder = mkdtempSync(join(tmpdir(), 'writ-echo-voice-'))
  const notes = mkdtempSync(join(folder, 'notes-'))
  const said = join(folder, 'said')
  writeFileSync(said, echoOf([BEARER, USER, PASSWORD]).join(' '))
  const { take } = createShown()
  const shown = new Map<string, readonly string[]>()
  const tokens: string[] = []
  const login = (key: string) => ({ name: `CANARY_${key.toUpperCase()}`, secretRef: 'login', key })

  return {
    echoes: true,
    documents: [
      document('Secret', 'bearer', { stringData: { value: BEARER } }),
      document('Secret', 'login', { stringData: { username: USER, password: PASSWORD } }),
    ],
    auth: (kind) => ({
      auth:
        kind === 'read'
          ? { profile: 'bearer', secretRef: 'bearer' }
          : { profile: 'basic', secretRef: 'login' },
    }),
    env: [{ name: 'CANARY', secretRef: 'bearer' }, login('username'), login('password')],
    words(tool, headers) {
      const secrets = take(headers)
      if (secrets.length === 0) return ['nothing was shown']
      shown.set(tool, secrets)
      return echoOf(secrets)
    },
    program: { said, notes },
    grant() {
      tokens.push(`${TOKEN}${tokens.length}`)
      return tokens.at(-1) ?? ''
    },
    secrets: () => [BEARER, USER, PASSWORD, CLIENT_SECRET, BLUE_SECRET, ...tokens],
    shown() {
      const noted = readdirSync(notes).map(
        (tool) => [tool, [readFileSync(join(notes, tool), 'utf8')]] as const,
      )
      return new Map([...shown, ...noted])
    },
    close: () => rmSync(folder, { recursive: true, force: true }),
  }
}
