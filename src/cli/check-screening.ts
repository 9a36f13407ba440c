/**
 * `tidegate check-screening`: tests whether a screening hook answers as the service needs it, and reports each violated
 * rule by name. Exit code 1: a rule is violated. It needs no service and no store.
 */
import type { Command } from 'commander'
import { checkScreening, SCREENING_SCENARIOS } from '../conformance/judge/screening/screening-checks.ts'
import { createQuestionSender } from '../conformance/stimulus/questions.ts'
import { createSystemClock } from '../platform/base/clock.ts'
import { endpointAddress, readSecrets } from './options/checked-endpoint.ts'
import { printChecks } from './terminal/check-results.ts'
import { stayAlive } from './terminal/environment.ts'

interface CheckScreeningOptions {
  readonly secretFile: string
  readonly json?: boolean
}

const HELP = `
Use a test instance: it is asked about some 100 movements of 1.25 USD. It must answer questions with
data.tidegate_check "allow", "hold" and "reject" with that decision.

Exit code 0: every rule holds. 1: one does not.

Examples:
  $ tidegate check-screening https://screening.example/ask --secret-file webhook-secret
  $ tidegate check-screening http://127.0.0.1:9191/ --secret-file webhook-secret --json

Rules:
${SCREENING_SCENARIOS.map(({ name, rule }) => `  ${name.padEnd(20)}${rule}`).join('\n')}`

export function registerCheckScreening(program: Command): void {
  program
    .command('check-screening')
    .summary('checks a screening hook')
    .description('Tests how a screening hook answers, and names every violated rule.')
    .argument('<url>', 'the hook’s address, as in screening.url')
    .requiredOption('--secret-file <file>', 'file with the signing secret (whsec_...)')
    .option('--json', 'report as JSON')
    .addHelpText('after', HELP)
    .action((url: string, options: CheckScreeningOptions) => stayAlive(check(url, options)))
}

async function check(text: string, { secretFile, json }: CheckScreeningOptions): Promise<void> {
  const sender = createQuestionSender(endpointAddress(text), readSecrets(secretFile), createSystemClock())
  printChecks('hook', await checkScreening(sender), json === true)
}
