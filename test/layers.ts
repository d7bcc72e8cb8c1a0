// The layers as data: what each folder of src may import. A folder that has no row here may not exist.

const DOOR = [
  'util',
  'contract',
  'event',
  'resource',
  'store',
  'ledger',
  'catalog',
  'pipeline',
  'runtime-api.ts',
] as const

/**
 * What each folder of src, and each file directly in it, may import. Everything else is up or sideways.
 * Lowest first; a row may only name rows above itself.
 */
export const LAYERS: Readonly<Record<string, readonly string[]>> = {
  util: [],
  contract: ['util'],
  event: ['util', 'contract'],
  // The one way out for all that is no tool call.
  egress: ['util', 'contract'],
  resource: ['util', 'contract'],
  store: ['util', 'contract', 'resource'],
  ledger: ['util', 'contract', 'event', 'egress', 'resource', 'store'],
  // What people and programs are told of approvals, and the links they decide with.
  notify: ['util', 'contract', 'egress', 'resource'],
  // Secrets, how they are shown to tools, and how they are kept out of everything else.
  credential: ['util', 'contract', 'egress', 'resource'],
  transport: ['util', 'contract', 'egress', 'resource', 'credential'],
  governance: ['util', 'contract', 'resource'],
  // The catalog keeps what is declared in the store, knows what a transport of a type can do, and compiles what governs.
  catalog: ['util', 'contract', 'event', 'resource', 'store', 'transport', 'governance'],
  // Who calls: tokens, their keys, and issuers elsewhere. It asks governance what an issuer holds.
  identity: ['util', 'contract', 'resource', 'governance'],
  pipeline: [
    'util',
    'contract',
    'event',
    'resource',
    'store',
    'ledger',
    'transport',
    'catalog',
    'governance',
  ],
  driver: [
    'util',
    'contract',
    'event',
    'resource',
    'store',
    'ledger',
    'transport',
    'catalog',
    'governance',
    'pipeline',
    'egress',
    'notify',
  ],
  telemetry: ['util', 'contract', 'event'],
  config: ['util', 'contract'],
  'define-tool.ts': ['util', 'contract', 'resource', 'transport'],
  // Interfaces only: what doors see of a runtime.
  'runtime-api.ts': [
    'util',
    'contract',
    'event',
    'resource',
    'store',
    'catalog',
    'governance',
    'pipeline',
    'define-tool.ts',
  ],
  // Parts of what a caller can do.
  'effect-door.ts': [...DOOR, 'governance'],
  'saga-door.ts': DOOR,
  'grant-door.ts': [...DOOR, 'governance'],
  'approval-door.ts': [...DOOR, 'governance', 'grant-door.ts'],
  'freeze-door.ts': [...DOOR, 'governance'],
  'caller-door.ts': [
    ...DOOR,
    'governance',
    'effect-door.ts',
    'saga-door.ts',
    'approval-door.ts',
    'freeze-door.ts',
  ],
  // A newer master key for what is sealed in the store.
  'secret-door.ts': ['util', 'contract', 'store', 'catalog', 'credential', 'runtime-api.ts'],
  // Parts of the composition.
  'open-store.ts': ['util', 'contract', 'event', 'resource', 'store'],
  'open-transports.ts': ['util', 'contract', 'event', 'credential', 'transport'],
  // Connections to MCP servers are shared by their transport and by what keeps their tools.
  'open-mcp.ts': ['util', 'contract', 'event', 'resource', 'credential', 'transport', 'catalog'],
  'open-secrets.ts': ['util', 'contract', 'credential', 'open-store.ts'],
  // Interfaces only: what a runtime is made with.
  'runtime-options.ts': [
    'util',
    'event',
    'notify',
    'credential',
    'transport',
    'driver',
    'define-tool.ts',
    'open-store.ts',
  ],
  'runtime.ts': [
    'runtime-options.ts',
    'open-mcp.ts',
    'open-store.ts',
    'open-secrets.ts',
    'open-transports.ts',
    'secret-door.ts',
    'util',
    'contract',
    'event',
    'resource',
    'store',
    'ledger',
    'transport',
    'catalog',
    'governance',
    'pipeline',
    'driver',
    'telemetry',
    'config',
    'define-tool.ts',
    'runtime-api.ts',
    'effect-door.ts',
    'saga-door.ts',
    'approval-door.ts',
    'freeze-door.ts',
    'caller-door.ts',
    'egress',
    'credential',
    'notify',
  ],
  server: [
    'util',
    'contract',
    'event',
    'resource',
    'runtime-api.ts',
    'runtime.ts',
    'notify',
    'governance',
    'identity',
  ],
  client: ['util', 'contract'],
  conformance: ['util', 'contract', 'event', 'resource', 'define-tool.ts', 'runtime-api.ts', 'runtime.ts'],
  // It reads manifests by itself, so that `validate` needs no server.
  cli: ['util', 'contract', 'resource', 'client', 'config'],
  'toolkit.ts': ['util', 'contract'],
  'index.ts': [
    'util',
    'contract',
    'event',
    'resource',
    'store',
    'transport',
    'define-tool.ts',
    'runtime-api.ts',
    'runtime.ts',
  ],
}

/** What a layer may know the types of, and nothing more: they are erased before anything runs. */
export const TYPES_OF: Readonly<Record<string, readonly string[]>> = {
  server: ['store'],
  notify: ['store'],
  cli: ['runtime-api.ts'],
}

/** Single files that reach further than their folder, each for one reason. */
export const GRANTS: Readonly<Record<string, readonly string[]>> = {
  // The one command that is a server: a composition root.
  'cli/command/up.ts': ['server', 'runtime.ts', 'runtime-api.ts', 'telemetry', 'event', 'egress', 'identity'],
  // Keeps the log of the runtime under test as a server would, to look for secrets in it.
  'cli/command/conformance.ts': ['conformance', 'event', 'telemetry'],
  // Judges policy cases in a runtime of its own, so that a build server needs no other.
  'cli/run-policy-cases.ts': ['runtime.ts', 'runtime-api.ts'],
  // Validates the Cedar texts of manifests by itself, without a server.
  'cli/check-cedar-texts.ts': ['governance'],
  // Functions of a program throw ToolError, as they would with the public name of it.
  'conformance/backend/native.ts': ['transport'],
  // Opens the token keys and the list of issuers for the server that is about to start.
  'cli/open-identity.ts': ['egress', 'identity', 'runtime-api.ts'],
  // Changes a file of token keys by itself, without a server.
  'cli/command/token-rotate.ts': ['identity'],
  // It verifies an export by itself, without a server.
  'cli/command/audit-verify.ts': ['ledger'],
  // They look at a data folder whose server may be down: is it locked, by whom, of which schema.
  'cli/check-data.ts': ['store'],
  'cli/open-data.ts': ['store'],
  // Reads the file of providers for the server that is about to start.
  'cli/open-secrets.ts': ['credential'],
  // Reads the file of targets for the server that is about to start.
  'cli/open-notify.ts': ['notify'],
}

/** Files that load something from outside src by a computed name. */
export const WAYS_OUT: readonly string[] = [
  // The tour is in examples/, which the package does not hold; it says so where they are missing.
  'cli/examples.ts',
]

export interface Siblings {
  readonly folder: string
  /** The interface, and what implementations share. */
  readonly shared: readonly string[]
  /** Chooses between implementations, so it knows them all. */
  readonly choosers: readonly string[]
  /** A path that ends in `/` is a folder. */
  readonly implementations: Readonly<Record<string, readonly string[]>>
}

/** Folders that hold several implementations of one interface. None of them knows another. */
export const SIBLINGS: readonly Siblings[] = [
  {
    folder: 'transport',
    shared: [
      'transport.ts',
      'mcp/session.ts',
      'abort-refusal.ts',
      'callback-address.ts',
      'credential-need.ts',
      'endpoint.ts',
      'envelope-reply.ts',
      'http-exchange.ts',
      'http-post.ts',
      'http-redirect.ts',
      'http-reply.ts',
      'http-status.ts',
      'json-copy.ts',
      'redact-reply.ts',
      'with-credentials.ts',
      'response-body.ts',
      'spaced-poll.ts',
      'tool-error.ts',
      'tool-request.ts',
      'traceparent.ts',
    ],
    choosers: ['registry.ts'],
    implementations: {
      native: ['native.ts'],
      http: ['http.ts', 'http-body.ts', 'http-output.ts'],
      external: ['external.ts'],
      'webhook-callback': ['webhook-callback.ts', 'callback-reply.ts'],
      grpc: [
        'grpc.ts',
        'grpc-call.ts',
        'grpc-channel.ts',
        'grpc-connection.ts',
        'grpc-encoding.ts',
        'grpc-metadata.ts',
        'grpc-reply.ts',
        'grpc-status.ts',
      ],
      cli: ['cli.ts', 'cli-arguments.ts', 'cli-command.ts', 'cli-reply.ts', 'program.ts'],
      mcp: ['mcp.ts', 'mcp/'],
    },
  },
  {
    folder: 'store',
    shared: [
      'store.ts',
      'approval-rule.ts',
      'approval-store.ts',
      'assemble-store.ts',
      'call-filter.ts',
      'entry-fixed.ts',
      'entry-rule.ts',
      'evidence-store.ts',
      'life.ts',
      'read-migrations.ts',
      'resource-store.ts',
      'unavailable.ts',
      'write.ts',
      'evidence-chain.ts',
      'life-rule.ts',
      'resource-body.ts',
      'resource-plan.ts',
      'saga-rule.ts',
      'spend-rule.ts',
      'timer-rule.ts',
      'write-queue.ts',
    ],
    choosers: ['registry.ts'],
    implementations: { memory: ['memory/'], sqlite: ['sqlite/'], postgres: ['postgres/'] },
  },
  {
    folder: 'credential/provider',
    shared: ['provider.ts', 'trusting-egress.ts'],
    choosers: ['registry.ts'],
    implementations: {
      store: ['store.ts'],
      env: ['env.ts'],
      file: ['file.ts'],
      vault: ['vault.ts'],
      kubernetes: ['kubernetes.ts', 'kube-access.ts'],
    },
  },
  {
    folder: 'conformance/backend',
    shared: ['backend.ts', 'envelope-service.ts', 'loopback.ts', 'mcp-service.ts'],
    choosers: ['registry.ts'],
    implementations: {
      native: ['native.ts'],
      cli: ['cli.ts'],
      http: ['http.ts'],
      external: ['external.ts'],
      'webhook-callback': ['webhook-callback.ts'],
      grpc: ['grpc.ts'],
      'mcp-stdio': ['mcp-stdio.ts'],
      'mcp-http': ['mcp-http.ts'],
    },
  },
  {
    folder: 'contract/dialect',
    shared: [
      'dialect.ts',
      'credential.ts',
      'decoding.ts',
      'encoding.ts',
      'lazy-schema.ts',
      'reading.ts',
      'refused-answer.ts',
      'reply-failure.ts',
    ],
    choosers: ['registry.ts', 'encode-answer.ts', 'call-resource.ts'],
    implementations: {
      v1: ['v1.ts', 'v1-reply.ts'],
      legacy: ['legacy.ts', 'legacy-reply.ts'],
      'four-outcome': ['four-outcome.ts', 'four-outcome-encoding.ts', 'four-outcome-reply.ts'],
    },
  },
]
