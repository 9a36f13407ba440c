/** What the main process sends a gateway process at its start: the settings that it reads, none of them secret. */
import type { TlsContext } from '../../../platform/http/node-server.ts'
import type { ReceiptKey } from '../../../streaming/gateway/process-messages.ts'
import { type Config, SETTING_KEYS, SETTINGS, type SettingKey } from '../../config/settings.ts'

type GatewayKey = Extract<
  SettingKey,
  'markets' | 'log.level' | `${'auth' | 'http' | 'process' | 'receipts' | 'stream'}.${string}`
>

export type GatewayConfig = Pick<Config, GatewayKey>

export interface GatewayStart {
  readonly config: GatewayConfig
  readonly port: number
  /** With the keys for session tickets, which all processes accept. Undefined without TLS. */
  readonly tls: TlsContext | undefined
  readonly receiptKey: ReceiptKey | undefined
}

export function gatewayConfig(config: Config): GatewayConfig {
  const isRead = (key: SettingKey) => /^(?:markets$|log\.level$|(?:auth|http|process|receipts|stream)\.)/.test(key)
  const keys = SETTING_KEYS.filter((key) => isRead(key) && !('secret' in SETTINGS[key] && SETTINGS[key].secret))
  return Object.fromEntries(keys.map((key) => [key, config[key]])) as unknown as GatewayConfig
}
