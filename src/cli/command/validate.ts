// writ validate: checks manifests on this machine, without a server.
import { PROFILES } from '../../config/config-schema.ts'
import { planApply } from '../../resource/plan-apply.ts'
import { countDocuments } from '../apply-manifests.ts'
import { createCedarTextCheck } from '../check-cedar-texts.ts'
import { CliError, EXIT } from '../cli-error.ts'
import { defineCommand, OUTPUT_FLAG } from '../command.ts'
import { hasErrors, sortProblems, tellProblems } from '../manifest-problems.ts'
import { printResult } from '../print.ts'
import { MANIFEST_FLAGS, readManifestSet } from '../read-manifests.ts'

export const command = defineCommand({
  name: 'validate',
  summary: 'Check manifests without a server',
  details: [
    'Finds what apply would refuse, but for what depends on resources that a server already has: of Cedar it reads syntax and annotations, and apply checks the rest. A manifest with an unknown or ill-typed field is not looked at further: mend that, and run it again. With -o table, problems go to stderr.',
  ],
  args: [],
  flags: {
    ...MANIFEST_FLAGS,
    profile: {
      type: 'string',
      values: PROFILES,
      default: 'local',
      description: 'The profile of the server that they are meant for.',
      placeholder: 'NAME',
    },
    'effect-default': {
      type: 'string',
      values: ['declared', 'from-risk'],
      default: 'declared',
      description: 'As that server is configured.',
      placeholder: 'NAME',
    },
    ...OUTPUT_FLAG,
  },
  examples: [{ line: 'writ validate -f tools/ --profile production', does: 'In CI, before a release' }],
  async run({ flags, terminal }) {
    const read = await readManifestSet(terminal, flags.file)
    const plan = planApply([], read.documents, {
      partial: true,
      ...createCedarTextCheck(),
      profile: flags.profile,
      effectDefault: flags['effect-default'],
    })
    const problems = sortProblems([...read.problems, ...plan.problems])
    const ok = !hasErrors(problems)
    const tools = plan.tools.map(({ name, version, digest }) => ({ name, version, digest }))
    if (flags.output === 'table') tellProblems(terminal, problems)
    if (!ok && flags.output === 'table') {
      throw new CliError('not valid', { exit: EXIT.invalid, fix: 'mend what is listed above' })
    }
    await printResult(
      terminal,
      flags.output,
      { ok, problems, tools },
      () => `${countDocuments(read.documents)} valid\n`,
    )
    return ok ? EXIT.ok : EXIT.invalid
  },
})
