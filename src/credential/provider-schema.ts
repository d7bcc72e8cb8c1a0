// The file of secret providers (YAML or JSON): its shape, and how it is read with every mistake at its place.
import Type from 'typebox'
import { createFindings, inReadingOrder, type Path, type Problem, toProblem } from '../resource/problem.ts'
import { locate, toJson } from '../resource/source-tree.ts'
import { readYaml } from '../resource/yaml-source.ts'
import { isJsonObject, type Json, type JsonObject } from '../util/json.ts'
import { compileSchema } from '../util/json-schema.ts'
import { splitPointer } from '../util/pointer.ts'
import type { ProviderSettings, ProviderType } from './provider/registry.ts'

const closed = { additionalProperties: false }
const Variable = Type.String({ pattern: '^[A-Za-z_][A-Za-z0-9_]{0,127}$' })
const File = Type.String({ minLength: 1, maxLength: 4096 })
const PathText = Type.String({ pattern: '^[A-Za-z0-9._{}-]+(/[A-Za-z0-9._{}-]+)*$', maxLength: 512 })

const SHAPES: Readonly<Record<ProviderType, Type.TSchema>> = {
  store: Type.Object({ type: Type.Enum(['store']) }, closed),
  env: Type.Object(
    {
      type: Type.Enum(['env']),
      prefix: Type.Optional(Type.String({ pattern: '^[A-Z][A-Z0-9_]{0,63}_$' })),
    },
    closed,
  ),
  file: Type.Object({ type: Type.Enum(['file']), folder: File }, closed),
  vault: Type.Object(
    {
      type: Type.Enum(['vault']),
      address: Type.String({ pattern: '^https?://[A-Za-z0-9.:\\[\\]-]+/?$', maxLength: 1024 }),
      mount: Type.Optional(PathText),
      path: Type.Optional(PathText),
      namespace: Type.Optional(Type.String({ pattern: '^[\\x21-\\x7e]{1,256}$' })),
      token_env: Type.Optional(Variable),
      token_file: Type.Optional(File),
      approle: Type.Optional(
        Type.Object(
          {
            mount: Type.Optional(PathText),
            role_id: Type.String({ minLength: 1, maxLength: 256 }),
            secret_id_env: Type.Optional(Variable),
            secret_id_file: Type.Optional(File),
          },
          closed,
        ),
      ),
      ca_file: Type.Optional(File),
    },
    closed,
  ),
  kubernetes: Type.Object(
    {
      type: Type.Enum(['kubernetes']),
      kubeconfig: Type.Optional(File),
      namespaces: Type.Optional(Type.Record(Type.String(), Type.String({ pattern: '^[a-z0-9-]{1,63}$' }))),
    },
    closed,
  ),
}

const TYPES = Object.keys(SHAPES)

export interface ReadProviders {
  /** Empty where anything is wrong. */
  readonly settings: readonly ProviderSettings[]
  readonly problems: readonly Problem[]
}

/** Never throws. Nothing in the file is a secret: it says where secrets are. */
export function readProviderSettings(
  text: string | Uint8Array,
  file: string,
  { profile }: { readonly profile: 'local' | 'production' },
): ReadProviders {
  const { documents, problems: broken } = readYaml(text)
  const problems = broken.map(({ at, ...one }) => toProblem({ ...one, severity: 'error' }, file, at))
  const [root, second] = documents
  if (root === undefined) return { settings: [], problems }
  const findings = createFindings()
  const value = toJson(root)
  if (second !== undefined) findings.error([], 'the file holds more than one document', 'keep one list')
  if (!Array.isArray(value) || value.length === 0)
    findings.error([], 'is no list of providers', 'write it like: - type: store')
  for (const [index, one] of (Array.isArray(value) ? value : []).entries()) check(one, index)
  for (const one of findings.all) problems.push(toProblem(one, file, locate(root, one.path)))
  const settings = problems.length > 0 ? [] : (value as unknown as readonly ProviderSettings[])
  return { settings, problems: inReadingOrder(problems) }

  function check(one: Json, index: number): void {
    const type = isJsonObject(one) ? one.type : undefined
    if (typeof type !== 'string' || !TYPES.includes(type)) {
      findings.error([index, 'type'], 'is no type of provider', `use one of ${TYPES.join(', ')}`)
      return
    }
    // TypeBox keeps non-enumerable marks on its schemas.
    const schema = JSON.parse(JSON.stringify(SHAPES[type as ProviderType])) as JsonObject
    const found = compileSchema(schema).check(one)
    for (const { path, message } of found)
      findings.error([index, ...((splitPointer(path) ?? []) as Path)], message, 'see the guide on secrets')
    if (found.length === 0) checkMeaning(one as unknown as ProviderSettings, index)
  }

  function checkMeaning(one: ProviderSettings, index: number): void {
    if (one.type !== 'vault') return
    const { token_env, token_file, approle, address } = one
    const ways = [token_env, token_file, approle].filter((way) => way !== undefined)
    if (ways.length !== 1)
      findings.error(
        [index],
        `says ${ways.length} ways to log in`,
        'give one of token_env, token_file, approle',
      )
    const { secret_id_env, secret_id_file } = approle ?? {}
    if (approle !== undefined && (secret_id_env === undefined) === (secret_id_file === undefined))
      findings.error([index, 'approle'], 'needs one secret id', 'give secret_id_env or secret_id_file')
    if (profile === 'production' && !address.startsWith('https:'))
      findings.error([index, 'address'], 'is no https address', 'use https in profile production')
  }
}
