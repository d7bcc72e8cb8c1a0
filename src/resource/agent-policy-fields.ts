// Every field of an AgentPolicy manifest, once. The columns are described in field-row.ts.
import { documentFields, type FieldTable, field, NO } from './field-row.ts'

const NOT_HERE = 'never: it is about running agents, which Writ does not; refused in production'
const PATTERNS = 'list of tools'
const OF_POLICY = 'what the policy is about'

// biome-ignore format: a row reads as a row
export const AGENT_POLICY_FIELDS: FieldTable = Object.freeze({
  rows: [
    ...documentFields('AgentPolicy'),
    field('spec', 'object', NO, '002', 'now', 'What is governed, and how.'),
    field('spec.apply_mode', 'scoped, global', 'scoped', '002', 'now', 'global: about every call of the namespace. scoped: about what the targets name; without any it matches nothing.', { reads: 'lower', aliases: ['spec.applyMode'] }),
    field('spec.target_agents', 'list of callers and agents', '[]', '002', 'now', 'A `*` at the end of one stands for any rest. With several lists of targets, a call that one of them names is meant.', { aliases: ['spec.targetAgents'] }),
    field('spec.target_systems', 'list of systems', '[]', '002', 'now', 'Systems that callers belong to.', { aliases: ['spec.targetSystems'] }),
    field('spec.target_tasks', 'list of task ids', '[]', '002', 'now', 'Tasks that calls are made for.', { aliases: ['spec.targetTasks'] }),
    field('spec.target_tools', PATTERNS, 'all', 'S42', 'now', 'Nothing of the policy is about other tools. A `*` at the end of a name stands for any rest. As the only target it is about these tools, whoever calls them.', { aliases: ['spec.targetTools'] }),
    field('spec.mode', 'enforce, monitor', 'enforce', 'S42', 'now', 'monitor: it only says what it would have done.', { reads: 'lower' }),
    field('spec.blocked_tools', PATTERNS, '[]', '002', 'now', 'Denied, whatever else allows them.', { aliases: ['spec.blockedTools'] }),

    field('spec.rules', 'list', '[]', 'S42', 'now', 'Every rule that matches counts; the strictest wins, whatever their order.'),
    field('spec.rules[]', 'object', NO, 'S42', 'now', 'Matches where all of its clauses hold.'),
    field('spec.rules[].tools', PATTERNS, OF_POLICY, 'S42', 'now', 'As target_tools.'),
    field('spec.rules[].operations', 'list of operations', 'all', 'S42', 'now', 'By name.'),
    field('spec.rules[].operation_classes', 'list of read, write, delete, admin', 'all', 'S42', 'now', 'An operation that has one of them.', { reads: 'lower', aliases: ['spec.rules[].operationClasses'] }),
    field('spec.rules[].risk_levels', 'list of low, medium, high, critical', 'all', 'S42', 'now', 'The risk_level of the tool.', { reads: 'lower', aliases: ['spec.rules[].riskLevels'] }),
    field('spec.rules[].when', 'list of comparisons', '[]', 'S42', 'now', 'Of the input. What cannot be judged counts as met, unless the rule allows.'),
    field('spec.rules[].when[]', 'object', NO, 'S42', 'now', 'One comparison.'),
    field('spec.rules[].when[].field', 'input field', NO, 'S42', 'now', 'A JSON pointer, or names with dots.'),
    field('spec.rules[].when[].op', 'eq, ne, gt, gte, lt, lte, in, not_in, in_domain, not_in_domain, exists', NO, 'S42', 'now', 'How it is compared. The domains are those of a mail address, or of every one of a list.', { reads: 'lower' }),
    field('spec.rules[].when[].value', 'any', NO, 'S42', 'now', 'What it is compared with.'),
    field('spec.rules[].decision', 'allow, require-approval, escalate, deny', NO, 'S42', 'now', 'What the rule asks for. allow never overrides a stricter rule or a missing permission.', { reads: 'decision' }),
    field('spec.rules[].reason', 'text', 'made from the rule', 'S42', 'now', 'Shown to callers and approvers.'),
    field('spec.rules[].retry_after', 'duration', NO, 'S45', 'now', 'With decision deny: the denial passes by itself, and this says when to come back. 1s to 720h.', { aliases: ['spec.rules[].retryAfter'] }),

    field('spec.cedar', 'Cedar policies', NO, 'S44', 'now', 'With a `permit` among them, what none of them permits is denied; a `forbid` denies, or asks for what its @decision says. Checked at apply, with line and column.'),

    field('spec.transforms', 'list', '[]', 'S43', 'now', 'Make an input narrower before it is sent. The result is validated again.'),
    field('spec.transforms[]', 'object', NO, 'S43', 'now', 'One of clamp, drop and dry_run.'),
    field('spec.transforms[].tools', PATTERNS, OF_POLICY, 'S43', 'now', 'As target_tools.'),
    field('spec.transforms[].when', 'list of comparisons', '[]', 'S43', 'now', 'As in rules.'),
    ...['field', 'op', 'value'].map((name) => field(`spec.transforms[].when[].${name}`, 'as in rules', NO, 'S43', 'now', 'As in rules.')),
    field('spec.transforms[].when[]', 'object', NO, 'S43', 'now', 'As in rules.'),
    field('spec.transforms[].clamp', 'object', NO, 'S43', 'now', 'Brings a number into bounds. What is no number is denied.'),
    field('spec.transforms[].clamp.field', 'input field', NO, 'S43', 'now', 'Which one.'),
    field('spec.transforms[].clamp.min', 'number', NO, 'S43', 'now', 'At least this; one of min and max is needed.'),
    field('spec.transforms[].clamp.max', 'number', NO, 'S43', 'now', 'At most this.'),
    field('spec.transforms[].drop', 'list of input fields', NO, 'S43', 'now', 'Left out.'),
    field('spec.transforms[].dry_run', 'true', NO, 'S43', 'now', 'The call is only explained, never sent.', { aliases: ['spec.transforms[].dryRun'] }),

    field('spec.budgets', 'list', '[]', 'S38', 'now', 'Reserved together with the intent; a call that does not fit is refused until the period ends.'),
    field('spec.budgets[]', 'object', NO, 'S38', 'now', 'One of calls and sum.'),
    field('spec.budgets[].tools', PATTERNS, OF_POLICY, 'S38', 'now', 'As target_tools. All of them share it.'),
    field('spec.budgets[].per', 'caller, tool', 'caller', 'S38', 'now', 'What is counted by itself.', { reads: 'lower' }),
    field('spec.budgets[].period', 'duration', NO, 'S38', 'now', 'Fixed windows, counted from 1970-01-01 UTC. 1s to 9600h.'),
    field('spec.budgets[].calls', 'true', NO, 'S38', 'now', 'Calls are counted.'),
    field('spec.budgets[].sum', 'input field', NO, 'S38', 'now', 'This number of each input is summed up. A call without it, or with a negative one, is denied.'),
    field('spec.budgets[].max', 'number', NO, 'S38', 'now', 'How much in one period; exact to a millionth, at most 9 thousand million.'),

    field('spec.approval', 'object', NO, 'S45', 'now', 'Who decides where the policy requires approval.'),
    field('spec.approval.role', 'name of an AgentRole', 'whoever may decide approvals', 'S45', 'now', 'Only holders of this role decide.'),
    field('spec.approval.quorum', '1 to 100', '1', 'S45', 'now', 'How many of them have to agree.'),
    field('spec.approval.ttl', 'duration', '10m', '002 S45', 'now', 'Not decided by then: expired. 1s to 720h.'),
    field('spec.escalate_to', 'name of an AgentRole', 'whoever may decide approvals', 'S42', 'now', 'Who decides where the policy escalates.', { aliases: ['spec.escalateTo'] }),

    ...['max_tokens_per_run', 'allowed_models', 'max_child_depth', 'max_child_tasks'].map((name) =>
      field(`spec.${name}`, name === 'allowed_models' ? 'list' : 'number', NO, 'S47', NOT_HERE, 'Read and shown.')),
  ],
  sameShape: [],
})
