// Seals Secrets before they are kept, opens what is kept, and wraps data keys anew when the master key changes.
//
// A secret has one data key. A value that stays the same keeps its very seal: what is kept changes only where a value does.
import type { ManifestDocument } from '../resource/manifest.ts'
import { createFindings, type Finding, type Problem, toProblem } from '../resource/problem.ts'
import { checkPlain, readValues, type Sealing, type SecretManifest, showSecret } from '../resource/secret.ts'
import { isJsonObject, type JsonObject } from '../util/json.ts'
import type { World } from '../util/world.ts'
import type { MasterKeyRing } from './key-ring.ts'
import { MasterKeyUnavailable } from './master-key.ts'
import { type Binding, randomKey, seal, unseal } from './seal.ts'

/** What is kept of a secret. */
export interface KeptSecret {
  readonly namespace: string
  readonly name: string
  readonly body: JsonObject
}

export interface SealedDocuments {
  /** None of them holds a value in clear, also where something is wrong. */
  readonly documents: readonly ManifestDocument[]
  readonly problems: readonly Problem[]
}

export interface SecretSealer {
  /** `namespace` is that of documents which name none. */
  seal(
    documents: readonly ManifestDocument[],
    existing: readonly (KeptSecret & { readonly kind: string })[],
    namespace: string,
  ): Promise<SealedDocuments>
  /** The values in clear. Throws `SealBroken`, or `MasterKeyUnavailable`. */
  open(kept: KeptSecret): Promise<Readonly<Record<string, string>>>
  /** What to keep instead, under the newest master key; undefined where it already is. Throws as `open` does. */
  rewrap(kept: KeptSecret): Promise<JsonObject | undefined>
  readonly keys: MasterKeyRing
}

/** Changed, moved, or sealed with a key that is not here. `message` says how to mend it. */
export class SealBroken extends Error {
  override readonly name = 'SealBroken'
  /** Its master key is not here: it may be put back. Otherwise the secret itself is damaged, and stays so. */
  readonly keyMissing: boolean

  constructor(message: string, { keyMissing = false }: { readonly keyMissing?: boolean } = {}) {
    super(message)
    this.keyMissing = keyMissing
  }
}

/** `keys` absent: nothing can be sealed or opened, and `why` says what to do about it. */
export function createSecretSealer(
  world: Pick<World, 'secret'>,
  keys: MasterKeyRing | { readonly why: string },
): SecretSealer {
  const ring: MasterKeyRing = 'why' in keys ? noKeys(keys.why) : keys

  async function dataKeyOf(kept: KeptSecret): Promise<Buffer> {
    const { key_id, data_key } = sealingOf(kept)
    const master = await ring.find(key_id)
    if (master === undefined)
      throw new SealBroken(
        `secret ${named(kept)} is sealed with the master key ${key_id}, which is not in ${ring.where}. Fix: put that key back as a further line, or apply the secret anew with all its values`,
        { keyMissing: true },
      )
    const dataKey = unseal(master.wrapping, keyBinding(kept, key_id), data_key)
    if (dataKey === undefined) throw broken(kept, 'its data key was changed')
    return dataKey
  }

  async function wrap(of: Pick<KeptSecret, 'namespace' | 'name'>, dataKey: Buffer): Promise<Sealing> {
    const [newest] = await ring.fresh()
    return { key_id: newest.id, data_key: seal(world, newest.wrapping, keyBinding(of, newest.id), dataKey) }
  }

  function openValue(kept: KeptSecret, dataKey: Buffer, key: string, sealed: unknown): string {
    const bytes = typeof sealed === 'string' ? unseal(dataKey, valueBinding(kept, key), sealed) : undefined
    if (bytes === undefined) throw broken(kept, `the value of ${key} was changed`)
    return bytes.toString('utf8')
  }

  async function open(kept: KeptSecret): Promise<Readonly<Record<string, string>>> {
    const dataKey = await dataKeyOf(kept)
    const values = Object.entries(dataOf(kept)).map(([key, sealed]) => [
      key,
      openValue(kept, dataKey, key, sealed),
    ])
    return Object.fromEntries(values)
  }

  /** Values of the manifest that cannot be had are findings. */
  async function sealOne(
    manifest: SecretManifest,
    of: Pick<KeptSecret, 'namespace' | 'name'>,
    kept: KeptSecret | undefined,
    report: (finding: Finding) => void,
  ): Promise<SecretManifest> {
    const before = kept && (await openKept(kept))
    const dataKey = before?.dataKey ?? randomKey(world)
    const data: Record<string, string> = {}
    for (const [key, text] of readValues(manifest.spec)) {
      const stays = before?.values.get(key)
      if (stays !== undefined && (text === undefined || text === stays.text)) data[key] = stays.sealed
      else if (text !== undefined) data[key] = seal(world, dataKey, valueBinding(of, key), Buffer.from(text))
      else
        report({
          path: ['spec', Object.hasOwn(manifest.spec.stringData ?? {}, key) ? 'stringData' : 'data', key],
          message: before?.why ?? "is '***', which stands for the value that is kept, and there is none",
          fix: 'write the value',
          severity: 'error',
        })
    }
    const { data: _data, stringData: _text, ...spec } = manifest.spec
    const sealing =
      before?.dataKey === undefined || kept === undefined ? await wrap(of, dataKey) : sealingOf(kept)
    return { ...manifest, spec: { data, ...spec }, sealing }
  }

  /** What of it can be opened: a damaged secret is mended by applying it with its values. */
  async function openKept(kept: KeptSecret): Promise<Opened> {
    const values = new Map<string, { readonly text: string; readonly sealed: string }>()
    try {
      const dataKey = await dataKeyOf(kept)
      let why: string | undefined
      for (const [key, sealed] of Object.entries(dataOf(kept))) {
        const text = typeof sealed === 'string' ? unseal(dataKey, valueBinding(kept, key), sealed) : undefined
        if (text === undefined || typeof sealed !== 'string') why = `stands for a value that was damaged`
        else values.set(key, { text: text.toString('utf8'), sealed })
      }
      return { dataKey, values, ...(why === undefined ? {} : { why }) }
    } catch (error) {
      if (!(error instanceof SealBroken)) throw error
      return { values, why: `stands for a value that cannot be opened: ${error.message.split('. Fix: ')[0]}` }
    }
  }

  return {
    keys: ring,
    open,

    async rewrap(kept) {
      const sealing = sealingOf(kept)
      const [newest] = await ring.fresh()
      if (sealing.key_id === newest.id) return undefined
      // All of it has to open: what is broken is not made to look as if it were new.
      await open(kept)
      const wrapped = await wrap(kept, await dataKeyOf(kept))
      return { ...kept.body, sealing: { ...wrapped } }
    },

    async seal(documents, existing, namespace) {
      const problems: Problem[] = []
      const sealed: ManifestDocument[] = []
      for (const document of documents) {
        const { manifest } = document
        if (manifest.kind !== 'Secret') {
          sealed.push(document)
          continue
        }
        const report = (finding: Finding) =>
          problems.push(toProblem(finding, document.file, document.at(finding.path)))
        const of = { namespace: manifest.metadata.namespace ?? namespace, name: manifest.metadata.name }
        const kept = existing.find(
          (row) => row.kind === 'Secret' && row.namespace === of.namespace && row.name === of.name,
        )
        sealed.push({ ...document, manifest: await sealOrMask(manifest, of, kept, report) })
      }
      return { documents: sealed, problems }
    },
  }

  async function sealOrMask(
    manifest: SecretManifest,
    of: Pick<KeptSecret, 'namespace' | 'name'>,
    kept: KeptSecret | undefined,
    report: (finding: Finding) => void,
  ): Promise<SecretManifest> {
    const findings = createFindings()
    checkPlain(manifest.metadata, readValues(manifest.spec, findings), findings)
    for (const finding of findings.all) report(finding)
    try {
      if (findings.all.length === 0) return await sealOne(manifest, of, kept, report)
    } catch (error) {
      if (!(error instanceof MasterKeyUnavailable)) throw error
      const [message = '', fix = 'see the guide on secrets'] = error.message.split('. Fix: ')
      report({ path: ['spec'], message: `cannot be sealed: ${message}`, fix, severity: 'error' })
    }
    // Shown as a difference of what was refused: without what may be refused because of what it holds.
    const { labels: _labels, annotations: _notes, ...metadata } = manifest.metadata
    return showSecret({ ...manifest, metadata } as unknown as JsonObject) as unknown as SecretManifest
  }
}

interface Opened {
  /** Absent where it could not be had. */
  readonly dataKey?: Buffer
  readonly values: ReadonlyMap<string, { readonly text: string; readonly sealed: string }>
  /** Why a value is not among them. */
  readonly why?: string
}

function noKeys(why: string): MasterKeyRing {
  const none = () => Promise.reject(new MasterKeyUnavailable(why))
  return { where: 'nowhere', fresh: none, find: none, renew: none }
}

function valueBinding({ namespace, name }: Pick<KeptSecret, 'namespace' | 'name'>, key: string): Binding {
  return ['writ secret value', namespace, name, key]
}

function keyBinding({ namespace, name }: Pick<KeptSecret, 'namespace' | 'name'>, keyId: string): Binding {
  return ['writ secret data key', namespace, name, keyId]
}

function sealingOf(kept: KeptSecret): Sealing {
  const { sealing } = kept.body
  if (isSealing(sealing)) return sealing
  throw broken(kept, 'how it was sealed is not there')
}

function isSealing(value: unknown): value is Sealing & JsonObject {
  return isJsonObject(value) && typeof value.key_id === 'string' && typeof value.data_key === 'string'
}

function dataOf({ body }: KeptSecret): JsonObject {
  const data = isJsonObject(body.spec) ? body.spec.data : undefined
  return isJsonObject(data) ? data : {}
}

function broken(kept: KeptSecret, why: string): SealBroken {
  return new SealBroken(
    `secret ${named(kept)} cannot be opened: ${why} in the store. Fix: apply it anew with all its values`,
  )
}

function named({ namespace, name }: Pick<KeptSecret, 'namespace' | 'name'>): string {
  return `${namespace}/${name}`
}
