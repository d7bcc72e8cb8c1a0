// The reference page of the settings, made from their schema.
import { flagOf, SETTING_NAMES, settingOf, variableOf } from './config-schema.ts'
import { CLIENT_VARIABLES } from './resolve-config.ts'

export function renderConfigDoc(): string {
  const rows = SETTING_NAMES.map((name) => {
    const setting = settingOf(name)
    const flag = setting.secret ? 'none: it is a secret' : `\`--${flagOf(name)}\``
    const fallback = setting.default === undefined ? 'none' : `\`${setting.default}\``
    const { minimum, maximum } = setting
    const values = setting.values
      ? setting.values.map((value) => `\`${value}\``).join(', ')
      : setting.kind === 'integer'
        ? `${minimum} to ${maximum}`
        : setting.kind === 'boolean'
          ? '`true`, `false`'
          : 'text'
    return `| \`${name}\` | ${flag} | \`${variableOf(name)}\` | ${fallback} | ${values} | ${setting.description} |`
  })
  const client = Object.entries(CLIENT_VARIABLES).map(([name, text]) => `| \`${name}\` | ${text} |`)
  return `<!-- Made by scripts/config-doc.ts from src/config/config-schema.ts. Do not edit by hand. -->

# Configuration

The settings of \`writ up\`. A flag wins over its environment variable, the variable over the default. They are read
once, at start; to change one, start again. A value that is not allowed, and a \`WRIT_\` variable that looks like a
misspelt setting, stop the start with exit code 2. An empty variable counts as not set, except for the secrets: there it
is what a secret that could not be read looks like, and stops the start as well.

| setting | flag | variable | default | values | meaning |
|---|---|---|---|---|---|
${rows.join('\n')}

## Profiles

\`local\` is for a laptop and says so at start. The first start makes \`admin-token\` in the data folder, readable by
its owner alone; commands that run beside the data folder find it there.

\`production\` refuses to start when

- \`host\` is not a loopback address and \`behind_proxy\` is not set: this version has no TLS of its own, so a proxy in
  front of it must speak TLS to the callers;
- \`WRIT_ADMIN_TOKEN\` is not set, or is shorter than 32 characters: no token is read from or written to a file;
- \`token_keys\` is not set: the keys that sign tokens are made and kept by whoever runs it;
- the data folder holds an \`admin-token\` from an earlier start in profile \`local\`.

It passes the profile on to the tools as well: manifests that only a laptop may take are refused at apply.

## Variables of the other commands

| variable | meaning |
|---|---|
${client.join('\n')}
| \`NO_COLOR\` | When set to anything, output has no colour. |

Without \`WRIT_URL\`, commands look for a server that was started on the data folder: \`--data\`, else \`WRIT_DATA\`, else
\`.writ\` in the current folder.
`
}
