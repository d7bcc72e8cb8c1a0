// Kind Secret: values that tools are given and nobody reads back. What is kept of them is sealed.
import Type from 'typebox'
import { canonicalJson, sha256Hex } from '../util/canonical.ts'
import { isJsonObject, type Json, type JsonObject } from '../util/json.ts'
import { documentSchema } from './document.ts'
import { documentFields, type FieldTable, field, NO } from './field-row.ts'
import { distinct } from './governance-part.ts'
import { type Kind, type Resolution, resolution, UNVERSIONED } from './kind.ts'
import { checkMetadata, isNamespace } from './name.ts'
import { createFindings, type Findings } from './problem.ts'
import { closed, Names, StringMap } from './schema-part.ts'

/** What every read shows in place of a value. Applied, it stands for the value that is kept. */
export const MASK = '***'
/** A shorter one could not be told from other text, and so not be kept out of it (S50). */
export const MIN_VALUE_BYTES = 8
export const MAX_VALUE_BYTES = 64 * 1024
/** Of all values: a manifest is not longer either. */
export const MAX_SECRET_BYTES = 1024 * 1024

const KEY = /^[A-Za-z0-9_][A-Za-z0-9._-]{0,252}$/

const Spec = Type.Object(
  {
    data: Type.Optional(StringMap),
    stringData: Type.Optional(StringMap),
    share_with: Type.Optional(Names),
  },
  closed,
)

const SecretSchema = documentSchema('Secret', Spec)

/** How the values of a kept secret can be opened again: its data key, wrapped by a master key. */
export interface Sealing {
  /** Which master key. */
  readonly key_id: string
  readonly data_key: string
}

/** `sealing` is no field of a manifest: what is kept has it, and then `data` holds nothing but sealed values. */
export type SecretManifest = Type.Static<typeof SecretSchema> & { readonly sealing?: Sealing }

export interface ResolvedSecret {
  readonly namespace: string
  readonly name: string
  readonly keys: readonly string[]
  readonly sharedWith: readonly string[]
}

// biome-ignore format: a row reads as a row
const FIELDS: FieldTable = {
  rows: [
    ...documentFields('Secret', 'Tools of another namespace use it only where it is shared with that one.'),
    field('spec', 'object', NO, '002', 'now', 'The values, and who may use them.'),
    field('spec.data', 'map of base64', '{}', '002', 'now', 'Values by key, in base64. Shown as `***`; applied as `***`, the value that is kept stays.'),
    field('spec.stringData', 'map of text', '{}', '002', 'now', 'The same as plain text, over `data`. Never shown: what it says is in `data` from then on.'),
    field('spec.share_with', 'list of namespaces', '[]', 'S41', 'now', 'Other namespaces whose tools may name it, as `NAMESPACE/NAME`. Without it nobody crosses.'),
  ],
  sameShape: [],
}

export const SECRET: Kind<'Secret', SecretManifest, ResolvedSecret> = Object.freeze({
  name: 'Secret',
  singular: 'secret',
  plural: 'secrets',
  versioned: false,
  permission: 'secret:write',
  schema: SecretSchema,
  fields: FIELDS,
  resolve: resolveSecret,
  shown: showSecret,
} as const)

/** The body without what must not be seen; how many values there are, and under which keys, is no secret. */
export function showSecret(body: JsonObject): JsonObject {
  const { sealing: _sealing, ...rest } = body
  const spec = isJsonObject(rest.spec) ? rest.spec : {}
  const { data, stringData, ...others } = spec
  const keys = [data, stringData].flatMap((map) => (isJsonObject(map) ? Object.keys(map) : []))
  const masked: Json = Object.fromEntries(keys.map((key) => [key, MASK]))
  return { ...rest, spec: { data: masked, ...others } }
}

/** The values as they are written, by key; undefined for one that is kept as it is. Problems never repeat a value. */
export function readValues(
  { data = {}, stringData = {} }: SecretManifest['spec'],
  findings: Findings = createFindings(),
): ReadonlyMap<string, string | undefined> {
  const values = new Map<string, string | undefined>()
  function take(field: 'data' | 'stringData', key: string, text: string | undefined): void {
    const path = ['spec', field, key]
    if (!KEY.test(key)) {
      findings.error(path, 'is no valid key', 'use 1 to 253 letters, digits, `.`, `_` and `-`')
      return
    }
    values.set(key, text)
    if (text === undefined) return
    const bytes = Buffer.byteLength(text)
    if (bytes < MIN_VALUE_BYTES) {
      const why = 'a shorter one cannot be kept out of what tools answer'
      findings.error(path, `has ${bytes} bytes; ${why}`, `use a value of at least ${MIN_VALUE_BYTES} bytes`)
    } else if (bytes > MAX_VALUE_BYTES)
      findings.error(path, `has ${bytes} bytes`, `use at most ${MAX_VALUE_BYTES}`)
  }
  for (const [key, text] of Object.entries(data)) {
    if (Object.hasOwn(stringData, key)) continue
    take('data', key, text === MASK ? undefined : decode(text, findings, ['spec', 'data', key]))
  }
  for (const [key, text] of Object.entries(stringData))
    take('stringData', key, text === MASK ? undefined : text.trim())
  return values
}

/** White space around a value is the editor's or the shell's, never the value's. */
function decode(text: string, findings: Findings, path: readonly string[]): string | undefined {
  const plain = text.replaceAll(/\s/g, '')
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(plain) || plain.replace(/=+$/, '').length % 4 === 1) {
    const fix = 'write it in base64, or under stringData as it is'
    findings.error(path, 'is no base64', fix)
    return undefined
  }
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(plain, 'base64')).trim()
  } catch {
    findings.error(path, 'is no text in UTF-8', 'encode it as text once more: what tools are given is text')
    return undefined
  }
}

function resolveSecret(manifest: SecretManifest): Resolution<ResolvedSecret> {
  const { spec, metadata } = manifest
  const findings = createFindings()
  checkMetadata(findings, metadata)
  const sharedWith = distinct(spec.share_with ?? [])
  for (const [index, namespace] of (spec.share_with ?? []).entries()) {
    if (!isNamespace(namespace.trim())) {
      const fix = 'name each namespace: lower-case letters, digits, `.`, `_`, `-`'
      findings.error(['spec', 'share_with', index], `'${namespace}' is no valid namespace`, fix)
    }
  }
  const written = manifest.sealing === undefined ? readValues(spec, findings) : undefined
  if (written !== undefined) checkPlain(metadata, written, findings)
  const keys = written === undefined ? Object.keys(manifest.spec.data ?? {}) : [...written.keys()]
  if (keys.length === 0) findings.warn(['spec'], 'holds no value', 'write one under stringData')
  return resolution(findings.all, UNVERSIONED, digestOf(manifest, sharedWith), () => ({
    namespace: metadata.namespace ?? 'default',
    name: metadata.name,
    keys,
    sharedWith,
  }))
}

/** Tools that apply for somebody note the whole manifest in an annotation, and that is kept as it is. */
export function checkPlain(
  { labels = {}, annotations = {} }: SecretManifest['metadata'],
  values: ReadonlyMap<string, string | undefined>,
  findings: Findings,
): void {
  const forms = [...values.values()].flatMap((value) =>
    value === undefined || value === ''
      ? []
      : [value, JSON.stringify(value).slice(1, -1), Buffer.from(value).toString('base64').replace(/=+$/, '')],
  )
  for (const [field, map] of Object.entries({ labels, annotations })) {
    for (const [name, text] of Object.entries(map)) {
      if (forms.some((form) => text.includes(form)))
        findings.error(['metadata', field, name], 'holds a value of the secret, in the clear', 'remove it')
    }
  }
}

/** Over what is sealed with chance in it, so that it says nothing of a value. Another master key does not change it. */
function digestOf({ spec, sealing }: SecretManifest, sharedWith: readonly string[]): string {
  const data = sealing === undefined ? {} : (spec.data ?? {})
  return `sha256:${sha256Hex('Secret', canonicalJson({ data, share_with: [...sharedWith] }))}`
}
