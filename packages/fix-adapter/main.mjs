/**
 * Publishes a FIX engine's market data to Tidegate:
 *
 *     node packages/fix-adapter/main.mjs CONFIGURATION.json
 *
 * It runs until SIGTERM or SIGINT, logs JSON lines to standard error, and ends with status 2 where the configuration is
 * wrong, 1 where Tidegate has revoked its access. README.md describes it.
 */
import { logToStandardError } from '../publisher/runtime.mjs'
import { FixAdapter } from './adapter.mjs'
import { ConfigurationError, loadConfiguration } from './configuration.mjs'

const [file] = process.argv.slice(2)

try {
  if (file === undefined) throw new ConfigurationError('usage: main.mjs CONFIGURATION.json')
  const onRevoked = () => {
    process.exitCode = 1
    stop()
  }
  const adapter = new FixAdapter(loadConfiguration(file, process.env), { log: logToStandardError, onRevoked })
  adapter.start()
  const stop = () => {
    adapter.stop().catch((error) => {
      logToStandardError('error', 'not stopped in order', { reason: error.message })
      process.exitCode = 1
    })
  }
  process.once('SIGTERM', stop)
  process.once('SIGINT', stop)
} catch (error) {
  if (!(error instanceof ConfigurationError)) throw error
  logToStandardError('error', error.message)
  process.exitCode = 2
}
