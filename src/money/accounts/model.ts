/**
 * The account model and the state machine for account review. Pure.
 *
 * A review has four states, and the operator moves it along REVIEW_STEPS. DENIED is final. `summary_status` shows the
 * review's state, or DISABLED while the operator or the customer has disabled the account. Disabling does not change
 * the review.
 */

/** The roles for account members other than the primary identity. */
export const MEMBER_ROLES = ['BENEFICIAL_OWNER', 'AUTHORIZED_USER', 'FINANCIAL_ADVISOR'] as const

export type MemberRole = (typeof MEMBER_ROLES)[number]

export const ACCOUNT_TYPES = ['BROKERAGE', 'TRADITIONAL_IRA', 'ROTH_IRA', 'SEP_IRA', 'FINANCIAL_ADVISOR'] as const

export type AccountType = (typeof ACCOUNT_TYPES)[number]

/** The states the operator may set, by the review's present state. */
const REVIEW_STEPS = {
  PENDING: ['APPROVED', 'DENIED', 'ERROR'],
  APPROVED: ['ERROR'],
  ERROR: ['APPROVED', 'DENIED'],
  DENIED: [],
} as const

export type ReviewStatus = keyof typeof REVIEW_STEPS

export const SUMMARY_STATUSES = ['PENDING', 'ERROR', 'APPROVED', 'DENIED', 'DISABLED'] as const

export type SummaryStatus = (typeof SUMMARY_STATUSES)[number]

/** In these statuses a profile gets no new addresses or rules, and its funds are neither converted nor sent. */
export const BLOCKED_STATUSES: ReadonlySet<SummaryStatus> = new Set(['DISABLED', 'DENIED', 'ERROR'])

/** An identity with access to an account, besides the primary one. */
export interface NewMember {
  readonly identity_id: string
  readonly roles: readonly MemberRole[]
}

export interface AccountMember extends NewMember {
  readonly id: string
}

export interface ReviewedAccount {
  readonly review_status: ReviewStatus
  readonly admin_disabled: boolean
  readonly user_disabled: boolean
}

/** The status shown to customers, from the review and the two flags. */
export function summaryStatus({ review_status, admin_disabled, user_disabled }: ReviewedAccount): SummaryStatus {
  return admin_disabled || user_disabled ? 'DISABLED' : review_status
}

/** The review's state after the operator requested `wanted`, or `undefined` when there is no such transition. */
export function reviewAfter(account: ReviewedAccount, wanted: SummaryStatus): ReviewStatus | undefined {
  const { review_status: present } = account
  // A review has no state DISABLED. Requesting it succeeds only while the account already shows it.
  if (wanted === present || wanted === summaryStatus(account)) return present
  const steps: readonly SummaryStatus[] = REVIEW_STEPS[present]
  return wanted !== 'DISABLED' && steps.includes(wanted) ? wanted : undefined
}

/** The new member list. An identity that is already a member keeps its member id. */
export function replaceMembers(
  present: readonly AccountMember[],
  wanted: readonly NewMember[],
  newId: () => string,
): readonly AccountMember[] {
  return wanted.map(({ identity_id, roles }) => ({
    id: present.find((member) => member.identity_id === identity_id)?.id ?? newId(),
    identity_id,
    roles,
  }))
}
