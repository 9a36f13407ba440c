/**
 * `tidegate check-webhook`: tests whether a customer's endpoint answers events as it should, and reports each violated
 * rule by name. Exit code 1: a rule is violated. It needs no service and no store.
 */
import type { Command } from 'commander'
import { checkWebhook, WEBHOOK_SCENARIOS } from '../conformance/judge/webhook/webhook-checks.ts'
import { createEventSender } from '../conformance/stimulus/events.ts'
import { createSystemClock } from '../platform/base/clock.ts'
import { endpointAddress, readSecrets } from './options/checked-endpoint.ts'
import { printChecks } from './terminal/check-results.ts'
import { stayAlive } from './terminal/environment.ts'

interface CheckWebhookOptions {
  readonly secretFile: string
  readonly json?: boolean
}

const HELP = `
Use a test instance: it receives some 40 events about deposits that do not exist, with the ref_id "tidegate-check".

Exit code 0: every rule holds. 1: one does not.

Examples:
  $ tidegate check-webhook https://customer.example/tidegate --secret-file webhook-secret
  $ tidegate check-webhook http://127.0.0.1:9292/ --secret-file webhook-secret --json

Rules:
${WEBHOOK_SCENARIOS.map(({ name, rule }) => `  ${name.padEnd(20)}${rule}`).join('\n')}`

export function registerCheckWebhook(program: Command): void {
  program
    .command('check-webhook')
    .summary('checks a webhook endpoint')
    .description('Tests how a customer’s webhook endpoint answers events, and names every violated rule.')
    .argument('<url>', 'the endpoint’s address')
    .requiredOption('--secret-file <file>', 'file with the signing secret (whsec_...)')
    .option('--json', 'report as JSON')
    .addHelpText('after', HELP)
    .action((url: string, options: CheckWebhookOptions) => stayAlive(check(url, options)))
}

async function check(text: string, { secretFile, json }: CheckWebhookOptions): Promise<void> {
  const sender = createEventSender(endpointAddress(text), readSecrets(secretFile), createSystemClock())
  printChecks('endpoint', await checkWebhook(sender), json === true)
}
