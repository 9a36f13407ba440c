/** `tidegate serve`: runs the service in the foreground and prints one line on stdout when it is ready. */
import type { Command } from 'commander'
import { createSystemClock } from '../platform/base/clock.ts'
import { createLog, type Log } from '../platform/base/log.ts'
import type { Service } from '../service/compose.ts'
import type { ConfigResult } from '../service/config/load.ts'
import { nodeProblem } from '../service/doctor/node-version.ts'
import { type Running, runUntilSignal } from '../service/process/lifecycle.ts'
import { startWatchdog } from '../service/process/watchdog.ts'
import type { ListenerAddresses } from '../service/start-listeners.ts'
import { type ConfiguredMarket, isSimulated } from '../streaming/market/configured-market.ts'
import { addConfigFlags, addTakeOverFlag, isTakeOver, readConfig, readConfigResult } from './options/config-flags.ts'

export function registerServe(program: Command): void {
  const command = program
    .command('serve')
    .description('runs the service in the foreground, with JSON logs on stderr and one ready line on stdout')
    .addHelpText(
      'after',
      `
Examples:
  $ tidegate serve --config tidegate.yaml
  $ tidegate serve --http.port 0 --operator.port 0 --data_dir /var/lib/tidegate
  $ kill -HUP PID    # reloads the configuration`,
    )
  addConfigFlags(addTakeOverFlag(command)).action(async () => {
    const warnings: string[] = []
    const { config, origins } = readConfig(command, {}, (warning) => warnings.push(warning))
    const log = createLog(config['log.level'])
    for (const warning of warnings) log.warn({ warning }, 'configuration warning')
    const problem = nodeProblem()
    if (problem !== undefined) log.warn({ node: process.version }, problem)
    warnOfMarkets(config.markets, log)
    startWatchdog(log, config['process.hang_seconds'])
    const clock = createSystemClock()
    const { startService } = await import('../service/compose.ts')
    await runUntilSignal(log, clock, async (signal) => {
      const takeOver = isTakeOver(command)
      const service = await startService({ config, origins, log, clock, random: Math.random, signal, takeOver })
      process.stdout.write(readyLine(service.addresses))
      return withReload(service, () => readConfigResult(command))
    })
  })
}

/** A service without markets, or with simulated prices, may be intended. It is always logged. */
function warnOfMarkets(markets: readonly ConfiguredMarket[], log: Log): void {
  if (markets.length === 0) log.warn({}, 'no markets are configured: the stream serves none')
  const simulated = markets.filter(isSimulated).map(({ definition }) => definition.symbol)
  if (simulated.length > 0) log.warn({ markets: simulated }, 'simulated markets: their prices are not real')
}

/** The service as a process runs it: a reload reads the configuration from its original source. */
export function withReload(service: Service, read: () => ConfigResult): Running {
  return {
    get stopMillisecondsMax() {
      return service.stopMillisecondsMax
    },
    stop: () => service.stop(),
    reload: () => service.reload(read()),
  }
}

/** The line for waiting scripts: the actual addresses, also when a port is 0. */
export function readyLine({ http, ws, operator, ingest }: ListenerAddresses): string {
  return `${JSON.stringify({ ready: true, http, ws, operator, ingest, pid: process.pid })}\n`
}
