/** A process's roles, and what they mean for its parts. This is the only file that reads the setting `roles`. Pure. */
export const ROLES = ['feed', 'gateway', 'api', 'worker'] as const

type Role = (typeof ROLES)[number]

interface Roles {
  readonly roles: readonly string[]
}

export function hasRole({ roles }: Roles, role: Role): boolean {
  return roles.includes(role)
}

/** The roles whose processes keep accounts and move money. The others build no ledger and no converter. */
export const MONEY_ROLES = ['api', 'worker'] as const satisfies readonly Role[]

export function movesMoney(config: Roles): boolean {
  return MONEY_ROLES.some((role) => hasRole(config, role))
}
