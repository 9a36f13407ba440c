/** This module's tables, as the query builder sees them. The migration `notices` defines them. */
import type { Generated } from '../../platform/store/sql.ts'

interface NoticesTable {
  id: string
  customer_id: string
  type: string
  subject: string
  facts: Readonly<Record<string, string>>
  created_at: Generated<string>
}

export interface NoticeTables {
  notices: NoticesTable
}
