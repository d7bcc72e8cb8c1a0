// The `cli` and `wasm` blocks of a tool: code that runs on this machine.
import Type from 'typebox'
import { CALL_FACTS } from './resolved-cli.ts'
import { closed, Names, Size, StringMap } from './schema-part.ts'

export const CliSchema = Type.Object(
  {
    command: Type.String({ minLength: 1 }),
    args: Type.Optional(Names),
    image: Type.Optional(Type.String({ minLength: 1 })),
    image_pull_secret: Type.Optional(Type.String({ minLength: 1 })),
    network: Type.Optional(Type.String({ minLength: 1 })),
    stdin_from_input: Type.Optional(Type.Boolean()),
    output: Type.Optional(Type.Enum(['stdout', 'stderr', 'both'])),
    working_dir: Type.Optional(Type.String({ minLength: 1 })),
    env: Type.Optional(StringMap),
    env_call: Type.Optional(
      Type.Record(Type.String({ pattern: '^[\\s\\S]+$' }), Type.Enum(CALL_FACTS), closed),
    ),
    allow_dash: Type.Optional(Type.Boolean()),
    exit_codes: Type.Optional(
      Type.Record(
        Type.String({ pattern: '^[\\s\\S]+$' }),
        Type.Object(
          {
            effect: Type.Optional(Type.Enum(['none', 'unknown'])),
            retryable: Type.Optional(Type.Boolean()),
            code: Type.Optional(Type.String({ pattern: '^[A-Za-z][A-Za-z0-9_.-]{0,127}$' })),
          },
          closed,
        ),
        closed,
      ),
    ),
    env_from: Type.Optional(
      Type.Array(
        Type.Object(
          {
            name: Type.String({ minLength: 1 }),
            secretRef: Type.String({ minLength: 1 }),
            key: Type.Optional(Type.String({ minLength: 1 })),
          },
          closed,
        ),
      ),
    ),
    resources: Type.Optional(
      Type.Object(
        {
          memory: Type.Optional(Size),
          cpus: Type.Optional(
            Type.Union(
              [Type.Number({ exclusiveMinimum: 0 }), Type.String({ pattern: '^[0-9]+(\\.[0-9]+)?m?$' })],
              {
                expected: 'a number of processors such as 0.5 or 500m',
              },
            ),
          ),
          pids_limit: Type.Optional(Type.Integer({ minimum: 1 })),
        },
        closed,
      ),
    ),
  },
  closed,
)

export const WasmSchema = Type.Object(
  {
    module: Type.String({ minLength: 1 }),
    entrypoint: Type.Optional(Type.String({ minLength: 1 })),
    max_memory_bytes: Type.Optional(Type.Integer({ minimum: 65_536 })),
    fuel: Type.Optional(Type.Integer({ minimum: 1 })),
    enable_wasi: Type.Optional(Type.Boolean()),
    image_pull_secret: Type.Optional(Type.String({ minLength: 1 })),
  },
  closed,
)
