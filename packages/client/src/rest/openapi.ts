/** The REST API as types. Generated from docs/reference/openapi.json by `npm run docs`. */
export interface paths {
    "/oauth2/token": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Get an access token
         * @description OAuth 2 client credentials grant (RFC 6749 section 4.4). A body has at most 64 KiB.
         */
        post: operations["grantToken"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/oauth2/revoke": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Revoke an access token
         * @description RFC 7009. Revokes a token of the same client and closes the streams that it opened. A body has at most 64 KiB.
         */
        post: operations["revokeToken"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/.well-known/oauth-authorization-server": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Metadata of the token endpoint
         * @description RFC 8414.
         */
        get: operations["getAuthorizationServer"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/.well-known/jwks.json": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Public keys that verify tokens
         * @description RFC 7517.
         */
        get: operations["getKeys"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/.well-known/tidegate-receipt-keys.json": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Public keys that verify receipts of books
         * @description RFC 7517. Every key that has signed receipts; none is ever removed. No token is signed with them.
         */
        get: operations["getReceiptKeys"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/markets": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List markets
         * @description Every market of this node, ordered by name, in one response: there are at most 2,000. Their data is sent over the WebSocket.
         */
        get: operations["listMarkets"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/identity/accounts": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List accounts
         * @description Accounts of the customer, whichever of its clients created them.
         */
        get: operations["listAccounts"];
        /**
         * Change an account
         * @description Absent members are not changed; `metadata` and `members` are replaced as a whole.
         */
        put: operations["updateAccount"];
        /**
         * Create an account
         * @description With `create_profile`, a profile of type NORMAL is created with the account; its id is `profile_id`. A `ref_id` that was used before is 409, and nothing is created.
         */
        post: operations["createAccount"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/identity/accounts/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get one account */
        get: operations["getAccount"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/client": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get the own client
         * @description Any valid token may ask. A use of a secret is shown up to a minute late: its times are stored once a minute.
         */
        get: operations["getClient"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/profiles": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List profiles
         * @description Profiles of the customer: those created with accounts, which show `account_id`, and those created by the operator, which show their `nickname`.
         */
        get: operations["listProfiles"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/profiles/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get one profile */
        get: operations["getProfile"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/transfer/transfers": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List transfers
         * @description All transfers that changed, or will change, the balances of the customer: deposits, withdrawals, conversions, and transfers between profiles. A deposit is listed from PENDING on; its `id` stays the same. A REVERSED one is followed by a DEBIT in its group. `total` is the sum of `amount` and `fee`.
         */
        get: operations["listTransfers"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/transfer/transfers/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get one transfer */
        get: operations["getTransfer"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/profiles/{id}/balances": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the balances of a profile
         * @description One item for each asset that the profile has ever had. `available` can be used now, `in_transit` is reserved by an orchestration or a withdrawal, `held` is on hold. Amounts are decimal text without trailing zeros.
         */
        get: operations["listBalances"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/transfer/deposit-addresses": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List deposit addresses
         * @description Deposit addresses of the customer, including those of its rules.
         */
        get: operations["listDepositAddresses"];
        put?: never;
        /**
         * Create a deposit address
         * @description Allocates a new address of the network, which is never reused. EVM networks share one address: `compatible_crypto_networks` names all networks on which it is valid. A deposit without a matching rule is converted into the `conversion_target_asset` of the address, unless that is NO_CONVERSION.
         */
        post: operations["createDepositAddress"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/transfer/deposit-addresses/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get one deposit address */
        get: operations["getDepositAddress"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/orchestration/rules": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List orchestration rules
         * @description Rules in every status, unless filtered by `status`.
         */
        get: operations["listRules"];
        put?: never;
        /**
         * Create an orchestration rule
         * @description `source` and `destination` have exactly one member each; the default destination is the profile of the rule. In the answer, the source contains its deposit instructions. A rule never changes: delete it and create another. While it is ACTIVE, every deposit that matches its source and source_asset is converted into destination_asset and delivered to the destination. After that, deposits are only credited.
         */
        post: operations["createRule"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/orchestration/rules/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get one orchestration rule
         * @description In any status.
         */
        get: operations["getRule"];
        put?: never;
        post?: never;
        /**
         * Delete an orchestration rule
         * @description A deleted rule stays in the list. Deleting it again is 200 and changes nothing.
         */
        delete: operations["deleteRule"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/orchestration/orchestrations": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List orchestrations
         * @description The conversions and deliveries of deposits that matched a rule, and those that the customer requested. `waiting_for` names why a PROCESSING one cannot proceed: PRICE, PEG, SLIPPAGE and DESK_LIMIT wait for the market, HOLD, PAUSED and OPERATOR for the operator.
         */
        get: operations["listOrchestrations"];
        put?: never;
        /**
         * Move funds out of a balance
         * @description Takes `source_amount` from the available balance of the profile, converts it where the assets differ, and sends it to the destination, or keeps it in the profile if there is none. The amount is reserved at once. A `ref_id` that was used before is 409 with that record in `meta.existing`, and nothing is moved, so a request can be repeated safely. A failed orchestration returns the amount.
         */
        post: operations["createOrchestration"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/orchestration/orchestrations/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get one orchestration */
        get: operations["getOrchestration"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/orchestration/orchestrations/{id}/price": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get the evidence of a price
         * @description The book that set the price, named by `cursor` and `time` as the stream sent them to `tidegate.v1` at the depth of the market, the levels taken from it, and each step of the computation. A conversion at par that needed no book has no `pegs`. 404 for an orchestration without a conversion: not converted yet, or of one asset.
         */
        get: operations["getOrchestrationPrice"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/orchestration/orchestrations/{id}/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Cancel an orchestration
         * @description It becomes FAILED with the code CANCELLED, and the money is available in the asset that it has by then. 409 when it is final, when its payment was handed out, and while the operator holds or pauses its money, whether or not `waiting_for` shows that. Cancelling it again is 200 and changes nothing.
         */
        post: operations["cancelOrchestration"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/sandbox/profiles/{profile_id}/deposit": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Make a deposit for testing
         * @description Only with the setting `rest.sandbox`. The deposit is handled like a real one: it is credited, and a matching rule converts and delivers it, without a real payment. Without `crypto_address` it is sent to the newest address of the profile on the network; without `memo_id`, a fiat deposit is credited to the profile. Some amounts force an outcome: 11.01 is held, 11.02 fails, 11.03 is below the minimum, and a delivery of 11.04 is refused, one of 11.05 has an unknown outcome for some seconds and is then settled. Some destinations do too: `0x000000000000000000000000000000000000dEaD` and the bank account `sandbox-refused` are refused; `0x00000000000000000000000000000000DeaDBeef` and `sandbox-unknown` have an unknown outcome first.
         */
        post: operations["createSandboxDeposit"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        Account: {
            id: string;
            identity_id: string;
            description?: string;
            admin_disabled: boolean;
            user_disabled: boolean;
            metadata: {
                [key: string]: unknown;
            };
            ref_id?: string;
            members: components["schemas"]["AccountMember"][];
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            updated_at: string;
            profile_id?: string;
            /** @enum {string} */
            summary_status: "PENDING" | "ERROR" | "APPROVED" | "DENIED" | "DISABLED";
            /** @enum {string} */
            type: "BROKERAGE" | "TRADITIONAL_IRA" | "ROTH_IRA" | "SEP_IRA" | "FINANCIAL_ADVISOR";
        };
        AccountChange: {
            id: string;
            ref_id?: string;
            description?: string;
            /** @description Any JSON object of at most 16384 bytes, as compact JSON in UTF-8, and 8 levels of objects and arrays, itself included. It is returned equal */
            metadata?: {
                [key: string]: unknown;
            };
            /** @description At most one entry per identity */
            members?: {
                identity_id: string;
                roles: ("BENEFICIAL_OWNER" | "AUTHORIZED_USER" | "FINANCIAL_ADVISOR")[];
            }[];
            set_user_disabled?: boolean;
        };
        AccountMember: {
            identity_id: string;
            roles: ("BENEFICIAL_OWNER" | "AUTHORIZED_USER" | "FINANCIAL_ADVISOR")[];
            id: string;
        };
        Balance: {
            asset: string;
            /** @description The amount that the profile can use now */
            available: string;
            /** @description Reserved by an orchestration or a withdrawal */
            in_transit: string;
            /** @description Credited and on hold */
            held: string;
        };
        /** @description Each node counts by itself */
        ClientLimits: {
            /** @description Connections of the client to the stream */
            connections_max: number;
            /** @description Subscriptions of one connection */
            subscriptions_max: number;
            /** @description Messages to the stream on one connection */
            inbound_per_second: number;
            /** @description Requests for each operation */
            rest_rate_per_second: number;
        };
        DepositAddress: {
            /** Format: uuid */
            id: string;
            profile_id: string;
            customer_id: string;
            account_id?: string;
            identity_id?: string;
            ref_id?: string;
            /** @enum {string} */
            crypto_network: "BITCOIN" | "BITCOIN_CASH" | "LITECOIN" | "DOGECOIN" | "ETHEREUM" | "POLYGON_POS" | "BASE" | "ARBITRUM_ONE" | "AVALANCHE" | "BNB" | "SOLANA" | "STELLAR";
            address: string;
            conversion_target_asset: string;
            compatible_crypto_networks: ("BITCOIN" | "BITCOIN_CASH" | "LITECOIN" | "DOGECOIN" | "ETHEREUM" | "POLYGON_POS" | "BASE" | "ARBITRUM_ONE" | "AVALANCHE" | "BNB" | "SOLANA" | "STELLAR")[];
            metadata: {
                [key: string]: string;
            };
            /** Format: date-time */
            created_at: string;
        };
        ListedAccount: {
            id: string;
            identity_id: string;
            description?: string;
            admin_disabled: boolean;
            user_disabled: boolean;
            metadata: {
                [key: string]: unknown;
            };
            ref_id?: string;
            members: components["schemas"]["AccountMember"][];
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            updated_at: string;
            profile_id?: string;
        };
        Market: {
            /** @description What subscriptions name */
            market: string;
            base_asset: string;
            quote_asset: string;
            /** @description Fraction digits of every price */
            price_decimals: number;
            /** @description Fraction digits of every amount */
            amount_decimals: number;
            /** @description Published levels per side; 0 = all */
            depth: number;
            /**
             * @description STARTING: no book yet. LIVE: a source is trusted. STALE: there was a book, no source is trusted now
             * @enum {string}
             */
            state: "LIVE" | "STALE" | "STARTING";
            /**
             * Format: date-time
             * @description When `state` changed last on this node
             */
            state_since: string;
            /** @description Whether its prices are invented by a simulator */
            simulated: boolean;
            /**
             * @description Whether it trades at the venue; the book is trusted in each of these states. Absent while that is not known
             * @enum {string}
             */
            instrument_state?: "OPEN" | "HALTED" | "AUCTION" | "CLOSED";
            /** @description The source, and its own word for the state, when it is not OPEN */
            instrument_reason?: string;
            /**
             * @description What proves the book to be that of its venue, the weakest of its live sources. CHECKSUM: a checksum or digest of the venue. SEQUENCE: numbers that show each missing message. COMPARISON: a snapshot now and then. NONE: nothing, as of a simulator, or of a market that is not LIVE
             * @enum {string}
             */
            proof: "CHECKSUM" | "SEQUENCE" | "COMPARISON" | "NONE";
        };
        MarketList: {
            items: components["schemas"]["Market"][];
        };
        Orchestration: {
            /** Format: uuid */
            id: string;
            /** Format: uuid */
            customer_id: string;
            /** Format: uuid */
            profile_id: string;
            identity_id?: string;
            /** Format: uuid */
            account_id?: string;
            /** @description Your own id, when you requested the orchestration */
            ref_id?: string;
            /** Format: uuid */
            orchestration_rule_id?: string;
            /** Format: uuid */
            deposit_id?: string;
            /**
             * Format: uuid
             * @description The failed orchestration that this one retries
             */
            retry_of?: string;
            source_asset: string;
            /** @description Decimal text without trailing zeros */
            source_amount: string;
            destination_asset: string;
            /** @description The amount that is delivered or credited; present after the conversion */
            destination_amount?: string;
            /** @description The amount of the destination asset for 1 of the source asset */
            price?: string;
            /** @description `par`, or the symbol of the market */
            price_source?: string;
            /** @description Present after the conversion. The part of the initial amount that is neither fee nor converted stays available */
            receipt?: {
                /** @description Decimal text without trailing zeros */
                initial_amount: string;
                /** @description Decimal text without trailing zeros */
                fee_amount: string;
                /** @description Decimal text without trailing zeros */
                converted_amount: string;
                rate: string;
                /** @description Decimal text without trailing zeros */
                outgoing_amount: string;
            };
            /** @enum {string} */
            status: "PROCESSING" | "COMPLETED" | "FAILED";
            /** @enum {string} */
            waiting_for?: "PRICE" | "PEG" | "SLIPPAGE" | "DESK_LIMIT" | "HOLD" | "PAUSED" | "OPERATOR";
            /**
             * Format: date-time
             * @description The orchestration fails when it is not converted by then; time in HOLD and PAUSED extends it
             */
            expires_at: string;
            /** @description Present when the status is FAILED */
            fail_reason?: {
                code: string;
                detail: string;
            };
            source: {
                crypto?: {
                    /** Format: uuid */
                    address_id?: string;
                    address?: string;
                    /** @enum {string} */
                    network: "BITCOIN" | "BITCOIN_CASH" | "LITECOIN" | "DOGECOIN" | "ETHEREUM" | "POLYGON_POS" | "BASE" | "ARBITRUM_ONE" | "AVALANCHE" | "BNB" | "SOLANA" | "STELLAR";
                };
                fiat?: {
                    /** Format: uuid */
                    deposit_instructions_id?: string;
                    /** @enum {string} */
                    network: "WIRE" | "CUBIX";
                    /** @enum {string} */
                    account_type?: "SWIFT" | "ABA";
                    memo_id?: string;
                };
                profile?: {
                    profile_id: string;
                };
            };
            /** @description Where the destination asset is delivered: exactly one of crypto, fiat, profile */
            destination: {
                crypto?: {
                    address: string;
                    /** @enum {string} */
                    network: "BITCOIN" | "BITCOIN_CASH" | "LITECOIN" | "DOGECOIN" | "ETHEREUM" | "POLYGON_POS" | "BASE" | "ARBITRUM_ONE" | "AVALANCHE" | "BNB" | "SOLANA" | "STELLAR";
                };
                fiat?: {
                    fiat_account_id: string;
                    memo?: string;
                };
                profile?: {
                    profile_id: string;
                };
            };
            source_transfer?: {
                /** Format: uuid */
                transfer_id: string;
                /** @enum {string} */
                status: "PENDING" | "COMPLETED" | "FAILED";
            };
            destination_transfer?: {
                /** Format: uuid */
                transfer_id: string;
                /** @enum {string} */
                status: "PENDING" | "COMPLETED" | "FAILED";
            };
            metadata: {
                [key: string]: unknown;
            };
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            updated_at: string;
        };
        OwnClient: {
            client_id: string;
            customer_id: string;
            /** @description The name that the operator gave to the client */
            name?: string;
            /** @description Scopes that its tokens may have; with an external issuer, those of this token */
            scopes: string[];
            /** @description Whether the customer is on the allow list of the stream */
            streaming: boolean;
            /** @description `unlimited`: nothing but the limits below */
            plan: {
                name: string;
            };
            limits: components["schemas"]["ClientLimits"];
            /** @description The valid ones, the oldest first, without values */
            secrets: components["schemas"]["Secret"][];
        };
        Price: {
            /** Format: uuid */
            orchestration_id: string;
            source_asset: string;
            /** @description Decimal text without trailing zeros */
            source_amount: string;
            destination_asset: string;
            /** @description Decimal text without trailing zeros */
            destination_amount: string;
            price?: string;
            /** @description `par`, or the symbol of the market */
            price_source?: string;
            /** @description All inputs from which price and amounts were computed */
            evidence: {
                /** @constant */
                kind: "par";
                source: {
                    asset: string;
                    decimals: number;
                    /** @description Decimal text without trailing zeros */
                    amount: string;
                };
                /** @description Decimal text without trailing zeros */
                converted_amount: string;
                /** @description Finer than the decimals of the destination asset; stays with the profile */
                remainder: string;
                destination: {
                    asset: string;
                    decimals: number;
                    /** @description Decimal text without trailing zeros */
                    amount: string;
                };
                /** @description The markets of the pair; empty where it has none, and no book was needed */
                pegs: {
                    market: {
                        symbol: string;
                        base_asset: string;
                        quote_asset: string;
                        price_decimals: number;
                    };
                    /** @description Conversions of earlier versions have no `cursor` and `time` */
                    book: {
                        /** @description Of the `market_data` message that made this book, at the depth of the market */
                        cursor?: string;
                        /** @description Of its UPDATE, exactly as sent */
                        time?: string;
                        simulated: boolean;
                        best_bid: string;
                        best_ask: string;
                        /** @description One fraction digit more than prices have */
                        mid: string;
                    };
                }[];
                settings: {
                    peg_bps_max: number;
                    book_age_seconds_max: number;
                };
            } | {
                /** @constant */
                kind: "market";
                market: {
                    symbol: string;
                    base_asset: string;
                    quote_asset: string;
                    price_decimals: number;
                };
                /** @enum {string} */
                side: "bids" | "asks";
                /** @description Conversions of earlier versions have no `cursor` and `time` */
                book: {
                    /** @description Of the `market_data` message that made this book, at the depth of the market */
                    cursor?: string;
                    /** @description Of its UPDATE, exactly as sent */
                    time?: string;
                    simulated: boolean;
                    best_bid: string;
                    best_ask: string;
                    /** @description One fraction digit more than prices have */
                    mid: string;
                };
                /** @description Decimal text without trailing zeros */
                taken_before: string;
                /** @description The levels that were used, from the best one */
                levels: {
                    price: string;
                    /** @description Decimal text without trailing zeros */
                    amount: string;
                    /** @description What other conversions had taken of it in the last `depth_seconds` */
                    taken_before: string;
                    /** @description Decimal text without trailing zeros */
                    taken: string;
                }[];
                source: {
                    asset: string;
                    decimals: number;
                    /** @description Decimal text without trailing zeros */
                    amount: string;
                };
                /** @description The exact sum over the levels */
                base_amount: string;
                /** @description The exact sum over the levels */
                quote_amount: string;
                destination: {
                    asset: string;
                    decimals: number;
                    /** @description Decimal text without trailing zeros */
                    amount: string;
                };
                price: string;
                settings: {
                    slippage_bps_max: number;
                    depth_seconds: number;
                    book_age_seconds_max: number;
                    /** @description In the quote asset */
                    notional_max?: string;
                };
            };
            explanation: {
                /** @description Whether every stored value equals the recomputed one */
                adds_up: boolean;
                /** @description The computation, one sentence per step */
                steps: string[];
                differences: {
                    value: string;
                    stored: string;
                    recomputed: string;
                }[];
            };
            /** Format: date-time */
            created_at: string;
        };
        /** @description RFC 9457. `code` is stable: switch on it, not on the texts. */
        Problem: {
            /** @constant */
            type: "about:blank";
            /** @description The standard phrase of the status */
            title: string;
            status: number;
            /** @description The field and the rule that it violates, for people */
            detail: string;
            /** @enum {string} */
            code: "invalid_request" | "invalid_cursor" | "own_address" | "bad_handshake" | "unauthorized" | "invalid_token" | "insufficient_scope" | "login_failed" | "setup_link_invalid" | "session_ended" | "insufficient_role" | "outside_binding" | "login_unavailable" | "own_request" | "csrf_failed" | "disabled" | "not_allowed" | "foreign_origin" | "quota_exceeded" | "account_blocked" | "insufficient_funds" | "receivable" | "paused" | "not_found" | "method_not_allowed" | "request_timeout" | "already_exists" | "invalid_state" | "earlier_attempt_unknown" | "record_changed" | "deposit_conflict" | "ambiguous_payment" | "body_too_large" | "unsupported_media_type" | "misdirected_request" | "upgrade_required" | "too_many_connections" | "too_many_unread_answers" | "rate_limited" | "daily_quota_exceeded" | "headers_too_large" | "internal" | "unavailable" | "address_unavailable" | "pool_empty" | "pool_reserved";
            /** Format: uuid */
            request_id: string;
            /** @description The violated rules, up to 20 */
            errors?: {
                /** @description Name of a parameter in the URL */
                parameter?: string;
                /** @description JSON pointer to a member of the body (RFC 6901) */
                pointer?: string;
                detail: string;
            }[];
            /** @description Facts for the reaction to the `code`, which are described with it */
            meta?: {
                /** @description The existing record */
                existing?: {
                    [key: string]: unknown;
                };
                /** @description The current state */
                current?: string;
                /** @description The current attempt of a delivery */
                attempt?: number;
                /** @description The profile that the record belongs to */
                profile_id?: string;
                /** @description The valid secrets of a client that may have no further one */
                secrets?: {
                    id: string;
                    /** Format: date-time */
                    created_at: string;
                    /** Format: date-time */
                    last_used_at?: string;
                }[];
                /**
                 * @description The status of the account
                 * @enum {string}
                 */
                summary_status?: "DISABLED" | "DENIED" | "ERROR";
                /** @description How many the customer may have or create */
                limit?: number;
                /** @description How many it has or has created */
                used?: number;
                /** @description The amount that the profile has available */
                available?: string;
                /** @description The amount that is needed, or the lowest role that may make the call */
                needed?: string;
                /** @description The role of the operator */
                role?: string;
                /** @description Attempts of the delivery that may have been paid, up to 20 */
                attempts?: {
                    attempt: number;
                    executor: string;
                }[];
                /** @description The members that differ */
                fields?: string[];
                /** @description The deposit that is known */
                deposit_id?: string;
                /**
                 * Format: date-time
                 * @description The last recorded time before the one that was asked for
                 */
                recorded_before?: string;
                /**
                 * Format: date-time
                 * @description The first recorded time after it
                 */
                recorded_after?: string;
            };
        };
        Profile: {
            id: string;
            nickname?: string;
            /** @enum {string} */
            type: "NORMAL";
            account_id?: string;
            /** Format: date-time */
            created_at: string;
        };
        Rule: {
            /** Format: uuid */
            id: string;
            ref_id: string;
            nickname?: string;
            profile_id: string;
            identity_id?: string;
            account_id?: string;
            /** @enum {string} */
            status: "ACTIVE" | "DELETED" | "PENDING" | "REJECTED";
            /** @description The reason for the rejection of a REJECTED rule */
            reject_reason?: string;
            source_asset: string;
            destination_asset: string;
            source: {
                crypto?: {
                    /** Format: uuid */
                    address_id?: string;
                    address?: string;
                    /** @enum {string} */
                    network: "BITCOIN" | "BITCOIN_CASH" | "LITECOIN" | "DOGECOIN" | "ETHEREUM" | "POLYGON_POS" | "BASE" | "ARBITRUM_ONE" | "AVALANCHE" | "BNB" | "SOLANA" | "STELLAR";
                };
                fiat?: {
                    /** Format: uuid */
                    deposit_instructions_id?: string;
                    /** @enum {string} */
                    network: "WIRE" | "CUBIX";
                    /** @enum {string} */
                    account_type?: "SWIFT" | "ABA";
                    memo_id?: string;
                };
                profile?: {
                    profile_id: string;
                };
            };
            /** @description Where the destination asset is delivered: exactly one of crypto, fiat, profile */
            destination: {
                crypto?: {
                    address: string;
                    /** @enum {string} */
                    network: "BITCOIN" | "BITCOIN_CASH" | "LITECOIN" | "DOGECOIN" | "ETHEREUM" | "POLYGON_POS" | "BASE" | "ARBITRUM_ONE" | "AVALANCHE" | "BNB" | "SOLANA" | "STELLAR";
                };
                fiat?: {
                    fiat_account_id: string;
                    memo?: string;
                };
                profile?: {
                    profile_id: string;
                };
            };
            /** Format: date-time */
            created_at: string;
        };
        Secret: {
            /** Format: uuid */
            id: string;
            /** Format: date-time */
            created_at: string;
            /**
             * Format: date-time
             * @description When it last got or revoked a token: up to a minute late
             */
            last_used_at?: string;
        };
        /**
         * @example {
         *       "access_token": "eyJhbGciOiJFUzI1NiJ9…",
         *       "expires_in": 3600,
         *       "token_type": "bearer",
         *       "scope": "identity:read_account"
         *     }
         */
        Token: {
            /** @description Opaque to clients */
            access_token: string;
            /** @description Seconds */
            expires_in: number;
            /** @constant */
            token_type: "bearer";
            scope: string;
        };
        TokenError: {
            /** @enum {string} */
            error: "invalid_request" | "invalid_client" | "unsupported_grant_type" | "invalid_scope" | "server_error" | "temporarily_unavailable";
            error_description: string;
        };
        Transfer: {
            /** Format: uuid */
            id: string;
            customer_id: string;
            profile_id: string;
            account_id?: string;
            asset: string;
            /** @description Decimal text without trailing zeros, such as 12.5 */
            amount: string;
            /** @description Decimal text without trailing zeros, such as 12.5 */
            fee: string;
            /** @description The sum of amount and fee */
            total: string;
            /** @enum {string} */
            direction: "CREDIT" | "DEBIT";
            /** @enum {string} */
            type: "CRYPTO_DEPOSIT" | "CRYPTO_WITHDRAWAL" | "WIRE_DEPOSIT" | "WIRE_WITHDRAWAL" | "CUBIX_DEPOSIT" | "CUBIX_WITHDRAWAL" | "CONVERSION" | "INTERNAL_TRANSFER";
            /** @enum {string} */
            status: "PENDING" | "COMPLETED" | "FAILED";
            /** @enum {string} */
            secondary_status?: "HELD" | "REVERSED" | "RETURNED";
            /** @description Why the deposit was or was not converted; see the table of disposition codes */
            disposition?: {
                code: string;
            };
            crypto_network?: string;
            crypto_tx_hash?: string;
            crypto_tx_index?: number;
            confirmations?: number;
            destination_address?: string;
            memo?: string;
            /** @description The id that transfers of one movement share */
            group_id: string;
            metadata: {
                [key: string]: unknown;
            };
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            updated_at: string;
        };
    };
    responses: {
        /** @description `invalid_request`: a parameter, member or header breaks its rule; `errors` names field and rule */
        "400.invalid_request": {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"] & {
                    /** @constant */
                    status?: 400;
                    /** @enum {string} */
                    code?: "invalid_request";
                };
            };
        };
        /** @description `invalid_request`: a parameter, member or header breaks its rule; `errors` names field and rule; `invalid_cursor`: the cursor is malformed, or of another list, filter or order */
        "400.invalid_request.invalid_cursor": {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"] & {
                    /** @constant */
                    status?: 400;
                    /** @enum {string} */
                    code?: "invalid_request" | "invalid_cursor";
                };
            };
        };
        /** @description `invalid_request`: a parameter, member or header breaks its rule; `errors` names field and rule; `own_address`: the destination is a deposit address of this service: name its profile as the destination instead */
        "400.invalid_request.own_address": {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"] & {
                    /** @constant */
                    status?: 400;
                    /** @enum {string} */
                    code?: "invalid_request" | "own_address";
                };
            };
        };
        /** @description `unauthorized`: a bearer token is required; `invalid_token`: the bearer token is malformed, expired, revoked, or not of the issuer that the service trusts */
        "401.unauthorized.invalid_token": {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                "WWW-Authenticate": components["headers"]["WWW-Authenticate"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"] & {
                    /** @constant */
                    status?: 401;
                    /** @enum {string} */
                    code?: "unauthorized" | "invalid_token";
                };
            };
        };
        /** @description `disabled`: the client or its customer is disabled */
        "403.disabled": {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                "WWW-Authenticate": components["headers"]["WWW-Authenticate"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"] & {
                    /** @constant */
                    status?: 403;
                    /** @enum {string} */
                    code?: "disabled";
                };
            };
        };
        /** @description `insufficient_scope`: the token, or its client by now, lacks the scope; `disabled`: the client or its customer is disabled */
        "403.insufficient_scope.disabled": {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                "WWW-Authenticate": components["headers"]["WWW-Authenticate"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"] & {
                    /** @constant */
                    status?: 403;
                    /** @enum {string} */
                    code?: "insufficient_scope" | "disabled";
                };
            };
        };
        /** @description `insufficient_scope`: the token, or its client by now, lacks the scope; `disabled`: the client or its customer is disabled; `account_blocked`: the account of the profile is DISABLED, DENIED or ERROR: the profile gets no new addresses or rules; `meta.summary_status` names the status; `insufficient_funds`: the profile has less of the asset available than is needed; `meta.available` and `meta.needed` say how much; `receivable`: the profile owes money since a deposit was reversed; nothing leaves it until that is repaid; `paused`: the operator has paused the asset, the network or the pair; try again later */
        "403.insufficient_scope.disabled.account_blocked.insufficient_funds.receivable.paused": {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                "WWW-Authenticate": components["headers"]["WWW-Authenticate"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"] & {
                    /** @constant */
                    status?: 403;
                    /** @enum {string} */
                    code?: "insufficient_scope" | "disabled" | "account_blocked" | "insufficient_funds" | "receivable" | "paused";
                };
            };
        };
        /** @description `insufficient_scope`: the token, or its client by now, lacks the scope; `disabled`: the client or its customer is disabled; `quota_exceeded`: the customer, or the record in the path, has as many records of this kind as it may have; `meta.limit` and `meta.used` say how many */
        "403.insufficient_scope.disabled.quota_exceeded": {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                "WWW-Authenticate": components["headers"]["WWW-Authenticate"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"] & {
                    /** @constant */
                    status?: 403;
                    /** @enum {string} */
                    code?: "insufficient_scope" | "disabled" | "quota_exceeded";
                };
            };
        };
        /** @description `insufficient_scope`: the token, or its client by now, lacks the scope; `disabled`: the client or its customer is disabled; `quota_exceeded`: the customer, or the record in the path, has as many records of this kind as it may have; `meta.limit` and `meta.used` say how many; `account_blocked`: the account of the profile is DISABLED, DENIED or ERROR: the profile gets no new addresses or rules; `meta.summary_status` names the status */
        "403.insufficient_scope.disabled.quota_exceeded.account_blocked": {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                "WWW-Authenticate": components["headers"]["WWW-Authenticate"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"] & {
                    /** @constant */
                    status?: 403;
                    /** @enum {string} */
                    code?: "insufficient_scope" | "disabled" | "quota_exceeded" | "account_blocked";
                };
            };
        };
        /** @description `not_found`: there is nothing at this path, or with this id */
        "404.not_found": {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                RateLimit: components["headers"]["RateLimit"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"] & {
                    /** @constant */
                    status?: 404;
                    /** @enum {string} */
                    code?: "not_found";
                };
            };
        };
        /** @description `request_timeout`: the request came too slowly */
        "408.request_timeout": {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"] & {
                    /** @constant */
                    status?: 408;
                    /** @enum {string} */
                    code?: "request_timeout";
                };
            };
        };
        /** @description `already_exists`: the name is taken; `meta.existing` holds that record */
        "409.already_exists": {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                RateLimit: components["headers"]["RateLimit"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"] & {
                    /** @constant */
                    status?: 409;
                    /** @enum {string} */
                    code?: "already_exists";
                };
            };
        };
        /** @description `invalid_state`: the record is in a state that does not allow this */
        "409.invalid_state": {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                RateLimit: components["headers"]["RateLimit"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"] & {
                    /** @constant */
                    status?: 409;
                    /** @enum {string} */
                    code?: "invalid_state";
                };
            };
        };
        /** @description `body_too_large`: the body is over its limit */
        "413.body_too_large": {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                RateLimit: components["headers"]["RateLimit"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"] & {
                    /** @constant */
                    status?: 413;
                    /** @enum {string} */
                    code?: "body_too_large";
                };
            };
        };
        /** @description `unsupported_media_type`: the body is of a type that the resource does not take, or has a `Content-Encoding` */
        "415.unsupported_media_type": {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                RateLimit: components["headers"]["RateLimit"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"] & {
                    /** @constant */
                    status?: 415;
                    /** @enum {string} */
                    code?: "unsupported_media_type";
                };
            };
        };
        /** @description `too_many_unread_answers`: the client has not read the answers it has; `Retry-After` says when to try again; `rate_limited`: too many requests; `Retry-After` says when the next one is answered */
        "429.too_many_unread_answers.rate_limited": {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                RateLimit: components["headers"]["RateLimit"];
                "Retry-After": components["headers"]["Retry-After"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"] & {
                    /** @constant */
                    status?: 429;
                    /** @enum {string} */
                    code?: "too_many_unread_answers" | "rate_limited";
                };
            };
        };
        /** @description `too_many_unread_answers`: the client has not read the answers it has; `Retry-After` says when to try again; `rate_limited`: too many requests; `Retry-After` says when the next one is answered; `daily_quota_exceeded`: the customer has created as many records as it may in one UTC day; `Retry-After` says when the day ends, `meta.limit` and `meta.used` how many */
        "429.too_many_unread_answers.rate_limited.daily_quota_exceeded": {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                RateLimit: components["headers"]["RateLimit"];
                "Retry-After": components["headers"]["Retry-After"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"] & {
                    /** @constant */
                    status?: 429;
                    /** @enum {string} */
                    code?: "too_many_unread_answers" | "rate_limited" | "daily_quota_exceeded";
                };
            };
        };
        /** @description `headers_too_large`: the head of the request is over its limit */
        "431.headers_too_large": {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"] & {
                    /** @constant */
                    status?: 431;
                    /** @enum {string} */
                    code?: "headers_too_large";
                };
            };
        };
        /** @description `internal`: an error on our side; quote `request_id` */
        "500.internal": {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"] & {
                    /** @constant */
                    status?: 500;
                    /** @enum {string} */
                    code?: "internal";
                };
            };
        };
        /** @description `unavailable`: the store is unavailable or did not answer in time, or the node is starting, full or shutting down */
        "503.unavailable": {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                "Retry-After": components["headers"]["Retry-After"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"] & {
                    /** @constant */
                    status?: 503;
                    /** @enum {string} */
                    code?: "unavailable";
                };
            };
        };
        /** @description `unavailable`: the store is unavailable or did not answer in time, or the node is starting, full or shutting down; `address_unavailable`: the service has no key for addresses of this network; `pool_empty`: every imported address of this network is in use; `pool_reserved`: the few imported addresses left on this network are kept for customers that have received fewer */
        "503.unavailable.address_unavailable.pool_empty.pool_reserved": {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                "Retry-After": components["headers"]["Retry-After"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"] & {
                    /** @constant */
                    status?: 503;
                    /** @enum {string} */
                    code?: "unavailable" | "address_unavailable" | "pool_empty" | "pool_reserved";
                };
            };
        };
    };
    parameters: never;
    requestBodies: never;
    headers: {
        /** @description Id of the request, also in the service log: quote it in support requests */
        "X-Request-Id": string;
        /** @description Quota of the client for this operation (draft-ietf-httpapi-ratelimit-headers): q requests in w seconds */
        "RateLimit-Policy": string;
        /** @description The rest of the quota: r requests now, the full quota in t seconds */
        RateLimit: string;
        /** @description Whole seconds after which the request may be sent again */
        "Retry-After": string;
        /** @description The reason for the rejection (RFC 6750 section 3) */
        "WWW-Authenticate": string;
        /** @description Names of unknown query parameters; absent when there are none */
        "Tidegate-Ignored-Parameters": string;
    };
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    grantToken: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/x-www-form-urlencoded": {
                    /** @constant */
                    grant_type: "client_credentials";
                    /** @description Unless sent as HTTP Basic */
                    client_id?: string;
                    /**
                     * Format: password
                     * @description Unless sent as HTTP Basic
                     */
                    client_secret?: string;
                    /** @description One scope, or several separated by spaces */
                    scope: string;
                };
                "multipart/form-data": {
                    /** @constant */
                    grant_type: "client_credentials";
                    /** @description Unless sent as HTTP Basic */
                    client_id?: string;
                    /**
                     * Format: password
                     * @description Unless sent as HTTP Basic
                     */
                    client_secret?: string;
                    /** @description One scope, or several separated by spaces */
                    scope: string;
                };
            };
        };
        responses: {
            /** @description A token */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Token"];
                };
            };
            /** @description `invalid_request`: a parameter is missing or sent twice, credentials come in two places, the body is broken; 405, 408, 413 or 415 where that status is more specific; `unsupported_grant_type`: `grant_type` must be `client_credentials`; `invalid_scope`: `scope` is missing, does not exist, or is not held by the client */
            400: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TokenError"] & {
                        /** @enum {string} */
                        error?: "invalid_request" | "unsupported_grant_type" | "invalid_scope";
                    };
                };
            };
            /** @description `invalid_client`: client authentication failed, or is missing; the client may be disabled */
            401: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TokenError"] & {
                        /** @enum {string} */
                        error?: "invalid_client";
                    };
                };
            };
            /** @description `invalid_request`: a parameter is missing or sent twice, credentials come in two places, the body is broken; 405, 408, 413 or 415 where that status is more specific */
            413: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TokenError"] & {
                        /** @enum {string} */
                        error?: "invalid_request";
                    };
                };
            };
            /** @description `invalid_request`: a parameter is missing or sent twice, credentials come in two places, the body is broken; 405, 408, 413 or 415 where that status is more specific */
            415: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TokenError"] & {
                        /** @enum {string} */
                        error?: "invalid_request";
                    };
                };
            };
            /** @description `temporarily_unavailable`: the clients are not loaded yet, or a revocation cannot be stored; 429 for too many requests, and from the sixth failed authentication a minute of one client and address; `Retry-After` says when to try again */
            429: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TokenError"] & {
                        /** @enum {string} */
                        error?: "temporarily_unavailable";
                    };
                };
            };
            /** @description `server_error`: an error on our side */
            500: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TokenError"] & {
                        /** @enum {string} */
                        error?: "server_error";
                    };
                };
            };
            /** @description `temporarily_unavailable`: the clients are not loaded yet, or a revocation cannot be stored; 429 for too many requests, and from the sixth failed authentication a minute of one client and address; `Retry-After` says when to try again */
            503: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TokenError"] & {
                        /** @enum {string} */
                        error?: "temporarily_unavailable";
                    };
                };
            };
        };
    };
    revokeToken: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/x-www-form-urlencoded": {
                    token: string;
                    token_type_hint?: string;
                    /** @description Unless sent as HTTP Basic */
                    client_id?: string;
                    /**
                     * Format: password
                     * @description Unless sent as HTTP Basic
                     */
                    client_secret?: string;
                };
                "multipart/form-data": {
                    token: string;
                    token_type_hint?: string;
                    /** @description Unless sent as HTTP Basic */
                    client_id?: string;
                    /**
                     * Format: password
                     * @description Unless sent as HTTP Basic
                     */
                    client_secret?: string;
                };
            };
        };
        responses: {
            /** @description The token is no longer accepted. Also sent for a token that is unknown, expired or not of this client */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description `invalid_request`: a parameter is missing or sent twice, credentials come in two places, the body is broken; 405, 408, 413 or 415 where that status is more specific */
            400: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TokenError"] & {
                        /** @enum {string} */
                        error?: "invalid_request";
                    };
                };
            };
            /** @description `invalid_client`: client authentication failed, or is missing; the client may be disabled */
            401: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TokenError"] & {
                        /** @enum {string} */
                        error?: "invalid_client";
                    };
                };
            };
            /** @description `invalid_request`: a parameter is missing or sent twice, credentials come in two places, the body is broken; 405, 408, 413 or 415 where that status is more specific */
            413: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TokenError"] & {
                        /** @enum {string} */
                        error?: "invalid_request";
                    };
                };
            };
            /** @description `invalid_request`: a parameter is missing or sent twice, credentials come in two places, the body is broken; 405, 408, 413 or 415 where that status is more specific */
            415: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TokenError"] & {
                        /** @enum {string} */
                        error?: "invalid_request";
                    };
                };
            };
            /** @description `temporarily_unavailable`: the clients are not loaded yet, or a revocation cannot be stored; 429 for too many requests, and from the sixth failed authentication a minute of one client and address; `Retry-After` says when to try again */
            429: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TokenError"] & {
                        /** @enum {string} */
                        error?: "temporarily_unavailable";
                    };
                };
            };
            /** @description `server_error`: an error on our side */
            500: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TokenError"] & {
                        /** @enum {string} */
                        error?: "server_error";
                    };
                };
            };
            /** @description `temporarily_unavailable`: the clients are not loaded yet, or a revocation cannot be stored; 429 for too many requests, and from the sixth failed authentication a minute of one client and address; `Retry-After` says when to try again */
            503: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TokenError"] & {
                        /** @enum {string} */
                        error?: "temporarily_unavailable";
                    };
                };
            };
        };
    };
    getAuthorizationServer: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The metadata */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        issuer: string;
                        /** Format: uri */
                        token_endpoint: string;
                        /** Format: uri */
                        revocation_endpoint: string;
                        /** Format: uri */
                        jwks_uri: string;
                        scopes_supported: string[];
                        /** @description Empty: there is no authorization endpoint */
                        response_types_supported?: string[];
                        grant_types_supported?: string[];
                        token_endpoint_auth_methods_supported?: string[];
                        revocation_endpoint_auth_methods_supported?: string[];
                    };
                };
            };
            503: components["responses"]["503.unavailable"];
        };
    };
    getKeys: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The keys */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/jwk-set+json": {
                        keys: Record<string, never>[];
                    };
                };
            };
            503: components["responses"]["503.unavailable"];
        };
    };
    getReceiptKeys: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The keys */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/jwk-set+json": {
                        keys: Record<string, never>[];
                    };
                };
            };
            /** @description `not_found`: this service has not signed any receipts */
            404: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            503: components["responses"]["503.unavailable"];
        };
    };
    listMarkets: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description All markets */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    "Tidegate-Ignored-Parameters": components["headers"]["Tidegate-Ignored-Parameters"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "items": [
                     *         {
                     *           "market": "BTCUSD",
                     *           "base_asset": "BTC",
                     *           "quote_asset": "USD",
                     *           "price_decimals": 2,
                     *           "amount_decimals": 8,
                     *           "depth": 1000,
                     *           "state": "LIVE",
                     *           "state_since": "2026-11-20T12:00:00.000Z",
                     *           "simulated": false,
                     *           "proof": "CHECKSUM"
                     *         }
                     *       ]
                     *     }
                     */
                    "application/json": components["schemas"]["MarketList"];
                };
            };
            400: components["responses"]["400.invalid_request"];
            401: components["responses"]["401.unauthorized.invalid_token"];
            403: components["responses"]["403.disabled"];
            408: components["responses"]["408.request_timeout"];
            429: components["responses"]["429.too_many_unread_answers.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable"];
        };
    };
    listAccounts: {
        parameters: {
            query?: {
                /** @description Ordering method */
                order_by?: "CREATED_AT";
                /** @description Filter by primary identity */
                identity_id?: string;
                /** @description Created strictly before; at most 9 fraction digits */
                "created_at.lt"?: string;
                /** @description Created at or before; at most 9 fraction digits */
                "created_at.lte"?: string;
                /** @description Created exactly at; at most 9 fraction digits */
                "created_at.eq"?: string;
                /** @description Created at or after; at most 9 fraction digits */
                "created_at.gte"?: string;
                /** @description Created strictly after; at most 9 fraction digits */
                "created_at.gt"?: string;
                /** @description Last updated strictly before; at most 9 fraction digits */
                "updated_at.lt"?: string;
                /** @description Last updated at or before; at most 9 fraction digits */
                "updated_at.lte"?: string;
                /** @description Last updated exactly at; at most 9 fraction digits */
                "updated_at.eq"?: string;
                /** @description Last updated at or after; at most 9 fraction digits */
                "updated_at.gte"?: string;
                /** @description Last updated strictly after; at most 9 fraction digits */
                "updated_at.gt"?: string;
                /** @description Maximum number of items: a page also ends at 2 MiB */
                limit?: number;
                /** @description Sort by created_at */
                order?: "DESC" | "ASC";
                /** @description Cursor of the next page: next_page_cursor of the previous page. Empty means the first page */
                page_cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One page of accounts */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    "Tidegate-Ignored-Parameters": components["headers"]["Tidegate-Ignored-Parameters"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "items": [
                     *         {
                     *           "id": "01932b5e-7d1c-7a10-9a54-6f1d2c9b8e01",
                     *           "identity_id": "person-1001",
                     *           "description": "Savings",
                     *           "admin_disabled": false,
                     *           "user_disabled": false,
                     *           "metadata": {
                     *             "desk": "north"
                     *           },
                     *           "ref_id": "account-1001",
                     *           "members": [],
                     *           "created_at": "2026-11-20T12:00:00.000Z",
                     *           "updated_at": "2026-11-20T12:00:00.000Z",
                     *           "profile_id": "01932b5e-7d1c-7a11-8c3e-27a4b1d05f02"
                     *         }
                     *       ],
                     *       "next_page_cursor": "eyJ2IjoxfQ"
                     *     }
                     */
                    "application/json": {
                        items: components["schemas"]["ListedAccount"][];
                        /** @description Absent on the last page, and only there: a page may hold fewer items than `limit`, or none, because it ends at 2 MiB and after 5,000 examined records */
                        next_page_cursor?: string;
                    };
                };
            };
            400: components["responses"]["400.invalid_request.invalid_cursor"];
            401: components["responses"]["401.unauthorized.invalid_token"];
            403: components["responses"]["403.insufficient_scope.disabled"];
            408: components["responses"]["408.request_timeout"];
            429: components["responses"]["429.too_many_unread_answers.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable"];
        };
    };
    updateAccount: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "id": "01932b5e-7d1c-7a10-9a54-6f1d2c9b8e01",
                 *       "description": "Savings of 2026",
                 *       "set_user_disabled": false
                 *     }
                 */
                "application/json": components["schemas"]["AccountChange"] | {
                    account: components["schemas"]["AccountChange"];
                };
            };
        };
        responses: {
            /** @description The changed account */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "id": "01932b5e-7d1c-7a10-9a54-6f1d2c9b8e01",
                     *       "identity_id": "person-1001",
                     *       "description": "Savings of 2026",
                     *       "admin_disabled": false,
                     *       "user_disabled": false,
                     *       "metadata": {
                     *         "desk": "north"
                     *       },
                     *       "ref_id": "account-1001",
                     *       "members": [],
                     *       "created_at": "2026-11-20T12:00:00.000Z",
                     *       "updated_at": "2026-11-20T12:05:00.000Z",
                     *       "profile_id": "01932b5e-7d1c-7a11-8c3e-27a4b1d05f02",
                     *       "summary_status": "PENDING",
                     *       "type": "BROKERAGE"
                     *     }
                     */
                    "application/json": components["schemas"]["Account"];
                };
            };
            400: components["responses"]["400.invalid_request"];
            401: components["responses"]["401.unauthorized.invalid_token"];
            403: components["responses"]["403.insufficient_scope.disabled"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            409: components["responses"]["409.already_exists"];
            413: components["responses"]["413.body_too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            429: components["responses"]["429.too_many_unread_answers.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable"];
        };
    };
    createAccount: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "account": {
                 *         "identity_id": "person-1001",
                 *         "ref_id": "account-1001",
                 *         "description": "Savings",
                 *         "metadata": {
                 *           "desk": "north"
                 *         }
                 *       },
                 *       "create_profile": true
                 *     }
                 */
                "application/json": {
                    account: {
                        identity_id: string;
                        ref_id?: string;
                        description?: string;
                        /** @description Any JSON object of at most 16384 bytes, as compact JSON in UTF-8, and 8 levels of objects and arrays, itself included. It is returned equal */
                        metadata?: {
                            [key: string]: unknown;
                        };
                        /** @description At most one entry per identity */
                        members?: {
                            identity_id: string;
                            roles: ("BENEFICIAL_OWNER" | "AUTHORIZED_USER" | "FINANCIAL_ADVISOR")[];
                        }[];
                        /** @enum {string} */
                        type?: "BROKERAGE" | "TRADITIONAL_IRA" | "ROTH_IRA" | "SEP_IRA" | "FINANCIAL_ADVISOR";
                    };
                    create_profile?: boolean;
                };
            };
        };
        responses: {
            /** @description The account */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "id": "01932b5e-7d1c-7a10-9a54-6f1d2c9b8e01",
                     *       "identity_id": "person-1001",
                     *       "description": "Savings",
                     *       "admin_disabled": false,
                     *       "user_disabled": false,
                     *       "metadata": {
                     *         "desk": "north"
                     *       },
                     *       "ref_id": "account-1001",
                     *       "members": [],
                     *       "created_at": "2026-11-20T12:00:00.000Z",
                     *       "updated_at": "2026-11-20T12:00:00.000Z",
                     *       "profile_id": "01932b5e-7d1c-7a11-8c3e-27a4b1d05f02",
                     *       "summary_status": "PENDING",
                     *       "type": "BROKERAGE"
                     *     }
                     */
                    "application/json": components["schemas"]["Account"];
                };
            };
            400: components["responses"]["400.invalid_request"];
            401: components["responses"]["401.unauthorized.invalid_token"];
            403: components["responses"]["403.insufficient_scope.disabled.quota_exceeded"];
            408: components["responses"]["408.request_timeout"];
            409: components["responses"]["409.already_exists"];
            413: components["responses"]["413.body_too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            429: components["responses"]["429.too_many_unread_answers.rate_limited.daily_quota_exceeded"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable"];
        };
    };
    getAccount: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The account */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "id": "01932b5e-7d1c-7a10-9a54-6f1d2c9b8e01",
                     *       "identity_id": "person-1001",
                     *       "description": "Savings",
                     *       "admin_disabled": false,
                     *       "user_disabled": false,
                     *       "metadata": {
                     *         "desk": "north"
                     *       },
                     *       "ref_id": "account-1001",
                     *       "members": [],
                     *       "created_at": "2026-11-20T12:00:00.000Z",
                     *       "updated_at": "2026-11-20T12:00:00.000Z",
                     *       "profile_id": "01932b5e-7d1c-7a11-8c3e-27a4b1d05f02",
                     *       "summary_status": "PENDING",
                     *       "type": "BROKERAGE"
                     *     }
                     */
                    "application/json": components["schemas"]["Account"];
                };
            };
            400: components["responses"]["400.invalid_request"];
            401: components["responses"]["401.unauthorized.invalid_token"];
            403: components["responses"]["403.insufficient_scope.disabled"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            429: components["responses"]["429.too_many_unread_answers.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable"];
        };
    };
    getClient: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The client of the token */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "client_id": "01932b50-2b3c-7d4e-9f50-6b7c8d9eaf06",
                     *       "customer_id": "01932b50-1a2b-7c3d-8e4f-5a6b7c8d9e05",
                     *       "name": "onboarding",
                     *       "scopes": [
                     *         "identity:read_account",
                     *         "identity:write_account"
                     *       ],
                     *       "streaming": true,
                     *       "plan": {
                     *         "name": "unlimited"
                     *       },
                     *       "limits": {
                     *         "connections_max": 2000,
                     *         "subscriptions_max": 1000,
                     *         "inbound_per_second": 50,
                     *         "rest_rate_per_second": 50
                     *       },
                     *       "secrets": [
                     *         {
                     *           "id": "01932b50-2b3c-7d4e-9f50-6b7c8d9eaf07",
                     *           "created_at": "2026-11-20T12:00:00.000Z",
                     *           "last_used_at": "2026-11-20T12:30:00.000Z"
                     *         }
                     *       ]
                     *     }
                     */
                    "application/json": components["schemas"]["OwnClient"];
                };
            };
            400: components["responses"]["400.invalid_request"];
            401: components["responses"]["401.unauthorized.invalid_token"];
            403: components["responses"]["403.disabled"];
            408: components["responses"]["408.request_timeout"];
            429: components["responses"]["429.too_many_unread_answers.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable"];
        };
    };
    listProfiles: {
        parameters: {
            query?: {
                /** @description Ordering method */
                order_by?: "CREATED_AT";
                /** @description Created strictly before; at most 9 fraction digits */
                "created_at.lt"?: string;
                /** @description Created at or before; at most 9 fraction digits */
                "created_at.lte"?: string;
                /** @description Created exactly at; at most 9 fraction digits */
                "created_at.eq"?: string;
                /** @description Created at or after; at most 9 fraction digits */
                "created_at.gte"?: string;
                /** @description Created strictly after; at most 9 fraction digits */
                "created_at.gt"?: string;
                /** @description Maximum number of items: a page also ends at 2 MiB */
                limit?: number;
                /** @description Sort by created_at */
                order?: "DESC" | "ASC";
                /** @description Cursor of the next page: next_page_cursor of the previous page. Empty means the first page */
                page_cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One page of profiles */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    "Tidegate-Ignored-Parameters": components["headers"]["Tidegate-Ignored-Parameters"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "items": [
                     *         {
                     *           "id": "01932b5e-7d1c-7a11-8c3e-27a4b1d05f02",
                     *           "type": "NORMAL",
                     *           "account_id": "01932b5e-7d1c-7a10-9a54-6f1d2c9b8e01",
                     *           "created_at": "2026-11-20T12:00:00.000Z"
                     *         }
                     *       ]
                     *     }
                     */
                    "application/json": {
                        items: components["schemas"]["Profile"][];
                        /** @description Absent on the last page, and only there: a page may hold fewer items than `limit`, or none, because it ends at 2 MiB and after 5,000 examined records */
                        next_page_cursor?: string;
                    };
                };
            };
            400: components["responses"]["400.invalid_request.invalid_cursor"];
            401: components["responses"]["401.unauthorized.invalid_token"];
            403: components["responses"]["403.insufficient_scope.disabled"];
            408: components["responses"]["408.request_timeout"];
            429: components["responses"]["429.too_many_unread_answers.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable"];
        };
    };
    getProfile: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The profile */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "id": "01932b5e-7d1c-7a11-8c3e-27a4b1d05f02",
                     *       "type": "NORMAL",
                     *       "account_id": "01932b5e-7d1c-7a10-9a54-6f1d2c9b8e01",
                     *       "created_at": "2026-11-20T12:00:00.000Z"
                     *     }
                     */
                    "application/json": components["schemas"]["Profile"];
                };
            };
            400: components["responses"]["400.invalid_request"];
            401: components["responses"]["401.unauthorized.invalid_token"];
            403: components["responses"]["403.insufficient_scope.disabled"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            429: components["responses"]["429.too_many_unread_answers.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable"];
        };
    };
    listTransfers: {
        parameters: {
            query?: {
                /** @description Filter by transfer UUIDs */
                ids?: string[];
                /** @description Filter by groups */
                group_id?: string[];
                /** @description Filter by profiles */
                profile_id?: string[];
                /** @description Filter by assets */
                asset?: string[];
                /** @description Filter by types */
                type?: ("CRYPTO_DEPOSIT" | "CRYPTO_WITHDRAWAL" | "WIRE_DEPOSIT" | "WIRE_WITHDRAWAL" | "CUBIX_DEPOSIT" | "CUBIX_WITHDRAWAL" | "CONVERSION" | "INTERNAL_TRANSFER")[];
                /** @description Filter by statuses */
                status?: ("PENDING" | "COMPLETED" | "FAILED")[];
                /** @description Created strictly before; at most 9 fraction digits */
                "created_at.lt"?: string;
                /** @description Created at or before; at most 9 fraction digits */
                "created_at.lte"?: string;
                /** @description Created exactly at; at most 9 fraction digits */
                "created_at.eq"?: string;
                /** @description Created at or after; at most 9 fraction digits */
                "created_at.gte"?: string;
                /** @description Created strictly after; at most 9 fraction digits */
                "created_at.gt"?: string;
                /** @description Last updated strictly before; at most 9 fraction digits */
                "updated_at.lt"?: string;
                /** @description Last updated at or before; at most 9 fraction digits */
                "updated_at.lte"?: string;
                /** @description Last updated exactly at; at most 9 fraction digits */
                "updated_at.eq"?: string;
                /** @description Last updated at or after; at most 9 fraction digits */
                "updated_at.gte"?: string;
                /** @description Last updated strictly after; at most 9 fraction digits */
                "updated_at.gt"?: string;
                /** @description Ordering method */
                order_by?: "CREATED_AT";
                /** @description Maximum number of items: a page also ends at 2 MiB */
                limit?: number;
                /** @description Sort by created_at */
                order?: "DESC" | "ASC";
                /** @description Cursor of the next page: next_page_cursor of the previous page. Empty means the first page */
                page_cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One page of transfers */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    "Tidegate-Ignored-Parameters": components["headers"]["Tidegate-Ignored-Parameters"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "items": [
                     *         {
                     *           "id": "d2a1b0c9-6f5e-4d3c-8b2a-190817263544",
                     *           "customer_id": "01932b50-1a2b-7c3d-8e4f-5a6b7c8d9e05",
                     *           "profile_id": "01932b5e-7d1c-7a11-8c3e-27a4b1d05f02",
                     *           "asset": "USDC",
                     *           "amount": "250.5",
                     *           "fee": "0",
                     *           "total": "250.5",
                     *           "direction": "CREDIT",
                     *           "type": "CRYPTO_DEPOSIT",
                     *           "status": "COMPLETED",
                     *           "disposition": {
                     *             "code": "ORCHESTRATED"
                     *           },
                     *           "crypto_network": "ETHEREUM",
                     *           "crypto_tx_hash": "0x5c504ed432cb51138bcf09aa5e8a410dd4a1e204ef84bfed1be16dfba1b22060",
                     *           "crypto_tx_index": 3,
                     *           "confirmations": 12,
                     *           "group_id": "d2a1b0c9-6f5e-4d3c-8b2a-190817263544",
                     *           "metadata": {},
                     *           "created_at": "2026-11-20T12:04:00.000Z",
                     *           "updated_at": "2026-11-20T12:07:00.000Z"
                     *         }
                     *       ]
                     *     }
                     */
                    "application/json": {
                        items: components["schemas"]["Transfer"][];
                        /** @description Absent on the last page, and only there: a page may hold fewer items than `limit`, or none, because it ends at 2 MiB and after 5,000 examined records */
                        next_page_cursor?: string;
                    };
                };
            };
            400: components["responses"]["400.invalid_request.invalid_cursor"];
            401: components["responses"]["401.unauthorized.invalid_token"];
            403: components["responses"]["403.insufficient_scope.disabled"];
            408: components["responses"]["408.request_timeout"];
            429: components["responses"]["429.too_many_unread_answers.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable"];
        };
    };
    getTransfer: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The transfer */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "id": "d2a1b0c9-6f5e-4d3c-8b2a-190817263544",
                     *       "customer_id": "01932b50-1a2b-7c3d-8e4f-5a6b7c8d9e05",
                     *       "profile_id": "01932b5e-7d1c-7a11-8c3e-27a4b1d05f02",
                     *       "asset": "USDC",
                     *       "amount": "250.5",
                     *       "fee": "0",
                     *       "total": "250.5",
                     *       "direction": "CREDIT",
                     *       "type": "CRYPTO_DEPOSIT",
                     *       "status": "COMPLETED",
                     *       "disposition": {
                     *         "code": "ORCHESTRATED"
                     *       },
                     *       "crypto_network": "ETHEREUM",
                     *       "crypto_tx_hash": "0x5c504ed432cb51138bcf09aa5e8a410dd4a1e204ef84bfed1be16dfba1b22060",
                     *       "crypto_tx_index": 3,
                     *       "confirmations": 12,
                     *       "group_id": "d2a1b0c9-6f5e-4d3c-8b2a-190817263544",
                     *       "metadata": {},
                     *       "created_at": "2026-11-20T12:04:00.000Z",
                     *       "updated_at": "2026-11-20T12:07:00.000Z"
                     *     }
                     */
                    "application/json": components["schemas"]["Transfer"];
                };
            };
            400: components["responses"]["400.invalid_request"];
            401: components["responses"]["401.unauthorized.invalid_token"];
            403: components["responses"]["403.insufficient_scope.disabled"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            429: components["responses"]["429.too_many_unread_answers.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable"];
        };
    };
    listBalances: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The balances of the profile, by asset */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    "Tidegate-Ignored-Parameters": components["headers"]["Tidegate-Ignored-Parameters"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "items": [
                     *         {
                     *           "asset": "USDC",
                     *           "available": "250.5",
                     *           "in_transit": "0",
                     *           "held": "0"
                     *         }
                     *       ]
                     *     }
                     */
                    "application/json": {
                        items: components["schemas"]["Balance"][];
                    };
                };
            };
            400: components["responses"]["400.invalid_request"];
            401: components["responses"]["401.unauthorized.invalid_token"];
            403: components["responses"]["403.insufficient_scope.disabled"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            429: components["responses"]["429.too_many_unread_answers.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable"];
        };
    };
    listDepositAddresses: {
        parameters: {
            query?: {
                /** @description Filter by profile IDs */
                profile_ids?: string[];
                /** @description Filter by identities */
                identity_ids?: string[];
                /** @description Filter by deposit address UUIDs */
                ids?: string[];
                /** @description Filter by client-specified IDs */
                ref_ids?: string[];
                /** @description Filter by accounts */
                account_ids?: string[];
                /** @description Filter by crypto networks; POLYGON means POLYGON_POS */
                crypto_networks?: ("BITCOIN" | "BITCOIN_CASH" | "LITECOIN" | "DOGECOIN" | "ETHEREUM" | "POLYGON_POS" | "BASE" | "ARBITRUM_ONE" | "AVALANCHE" | "BNB" | "SOLANA" | "STELLAR" | "POLYGON")[];
                /** @description Another name of crypto_networks */
                networks?: ("BITCOIN" | "BITCOIN_CASH" | "LITECOIN" | "DOGECOIN" | "ETHEREUM" | "POLYGON_POS" | "BASE" | "ARBITRUM_ONE" | "AVALANCHE" | "BNB" | "SOLANA" | "STELLAR" | "POLYGON")[];
                /** @description Created strictly before; at most 9 fraction digits */
                "created_at.lt"?: string;
                /** @description Created at or before; at most 9 fraction digits */
                "created_at.lte"?: string;
                /** @description Created exactly at; at most 9 fraction digits */
                "created_at.eq"?: string;
                /** @description Created at or after; at most 9 fraction digits */
                "created_at.gte"?: string;
                /** @description Created strictly after; at most 9 fraction digits */
                "created_at.gt"?: string;
                /** @description Ordering method */
                order_by?: "CREATED_AT";
                /** @description Maximum number of items: a page also ends at 2 MiB */
                limit?: number;
                /** @description Sort by created_at */
                order?: "DESC" | "ASC";
                /** @description Cursor of the next page: next_page_cursor of the previous page. Empty means the first page */
                page_cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One page of deposit addresses */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    "Tidegate-Ignored-Parameters": components["headers"]["Tidegate-Ignored-Parameters"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "items": [
                     *         {
                     *           "id": "01932b60-2f4a-7c21-b1d8-90e5c7a6d403",
                     *           "profile_id": "01932b5e-7d1c-7a11-8c3e-27a4b1d05f02",
                     *           "customer_id": "01932b50-1a2b-7c3d-8e4f-5a6b7c8d9e05",
                     *           "account_id": "01932b5e-7d1c-7a10-9a54-6f1d2c9b8e01",
                     *           "identity_id": "person-1001",
                     *           "ref_id": "address-1001",
                     *           "crypto_network": "BITCOIN",
                     *           "address": "bc1qcr8te4kr609gcawutmrza0j4xv80jy8z306fyu",
                     *           "conversion_target_asset": "NO_CONVERSION",
                     *           "compatible_crypto_networks": [
                     *             "BITCOIN"
                     *           ],
                     *           "metadata": {},
                     *           "created_at": "2026-11-20T12:01:00.000Z"
                     *         }
                     *       ]
                     *     }
                     */
                    "application/json": {
                        items: components["schemas"]["DepositAddress"][];
                        /** @description Absent on the last page, and only there: a page may hold fewer items than `limit`, or none, because it ends at 2 MiB and after 5,000 examined records */
                        next_page_cursor?: string;
                    };
                };
            };
            400: components["responses"]["400.invalid_request.invalid_cursor"];
            401: components["responses"]["401.unauthorized.invalid_token"];
            403: components["responses"]["403.insufficient_scope.disabled"];
            408: components["responses"]["408.request_timeout"];
            429: components["responses"]["429.too_many_unread_answers.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable"];
        };
    };
    createDepositAddress: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "profile_id": "01932b5e-7d1c-7a11-8c3e-27a4b1d05f02",
                 *       "crypto_network": "BITCOIN",
                 *       "ref_id": "address-1001"
                 *     }
                 */
                "application/json": {
                    profile_id: string;
                    /** @enum {string} */
                    crypto_network: "BITCOIN" | "BITCOIN_CASH" | "LITECOIN" | "DOGECOIN" | "ETHEREUM" | "POLYGON_POS" | "BASE" | "ARBITRUM_ONE" | "AVALANCHE" | "BNB" | "SOLANA" | "STELLAR" | "POLYGON";
                    account_id?: string;
                    identity_id?: string;
                    ref_id?: string;
                    /** @description NO_CONVERSION, or an asset into which an asset of the network can be converted */
                    conversion_target_asset?: string;
                    metadata?: {
                        [key: string]: string;
                    };
                };
            };
        };
        responses: {
            /** @description The deposit address */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "id": "01932b60-2f4a-7c21-b1d8-90e5c7a6d403",
                     *       "profile_id": "01932b5e-7d1c-7a11-8c3e-27a4b1d05f02",
                     *       "customer_id": "01932b50-1a2b-7c3d-8e4f-5a6b7c8d9e05",
                     *       "account_id": "01932b5e-7d1c-7a10-9a54-6f1d2c9b8e01",
                     *       "identity_id": "person-1001",
                     *       "ref_id": "address-1001",
                     *       "crypto_network": "BITCOIN",
                     *       "address": "bc1qcr8te4kr609gcawutmrza0j4xv80jy8z306fyu",
                     *       "conversion_target_asset": "NO_CONVERSION",
                     *       "compatible_crypto_networks": [
                     *         "BITCOIN"
                     *       ],
                     *       "metadata": {},
                     *       "created_at": "2026-11-20T12:01:00.000Z"
                     *     }
                     */
                    "application/json": components["schemas"]["DepositAddress"];
                };
            };
            400: components["responses"]["400.invalid_request"];
            401: components["responses"]["401.unauthorized.invalid_token"];
            403: components["responses"]["403.insufficient_scope.disabled.quota_exceeded.account_blocked"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            409: components["responses"]["409.already_exists"];
            413: components["responses"]["413.body_too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            429: components["responses"]["429.too_many_unread_answers.rate_limited.daily_quota_exceeded"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable.address_unavailable.pool_empty.pool_reserved"];
        };
    };
    getDepositAddress: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The deposit address */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "id": "01932b60-2f4a-7c21-b1d8-90e5c7a6d403",
                     *       "profile_id": "01932b5e-7d1c-7a11-8c3e-27a4b1d05f02",
                     *       "customer_id": "01932b50-1a2b-7c3d-8e4f-5a6b7c8d9e05",
                     *       "account_id": "01932b5e-7d1c-7a10-9a54-6f1d2c9b8e01",
                     *       "identity_id": "person-1001",
                     *       "ref_id": "address-1001",
                     *       "crypto_network": "BITCOIN",
                     *       "address": "bc1qcr8te4kr609gcawutmrza0j4xv80jy8z306fyu",
                     *       "conversion_target_asset": "NO_CONVERSION",
                     *       "compatible_crypto_networks": [
                     *         "BITCOIN"
                     *       ],
                     *       "metadata": {},
                     *       "created_at": "2026-11-20T12:01:00.000Z"
                     *     }
                     */
                    "application/json": components["schemas"]["DepositAddress"];
                };
            };
            400: components["responses"]["400.invalid_request"];
            401: components["responses"]["401.unauthorized.invalid_token"];
            403: components["responses"]["403.insufficient_scope.disabled"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            429: components["responses"]["429.too_many_unread_answers.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable"];
        };
    };
    listRules: {
        parameters: {
            query?: {
                /** @description Filter by profile */
                profile_id?: string;
                /** @description Filter by statuses */
                status?: ("ACTIVE" | "DELETED" | "PENDING" | "REJECTED")[];
                /** @description Filter by source asset */
                source_asset?: string;
                /** @description Filter by destination asset */
                destination_asset?: string;
                /** @description Filter by rule UUIDs */
                ids?: string[];
                /** @description Maximum number of items: a page also ends at 2 MiB */
                limit?: number;
                /** @description Sort by created_at */
                order?: "DESC" | "ASC";
                /** @description Cursor of the next page: next_page_cursor of the previous page. Empty means the first page */
                page_cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One page of rules */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    "Tidegate-Ignored-Parameters": components["headers"]["Tidegate-Ignored-Parameters"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "rules": [
                     *         {
                     *           "id": "01932b61-9be2-7e30-a7f6-3d2b8c1e4a04",
                     *           "ref_id": "rule-1001",
                     *           "nickname": "Bitcoin to dollars",
                     *           "profile_id": "01932b5e-7d1c-7a11-8c3e-27a4b1d05f02",
                     *           "source_asset": "BTC",
                     *           "destination_asset": "USD",
                     *           "source": {
                     *             "crypto": {
                     *               "address_id": "01932b61-9be2-7e31-94c0-b8a2d6f71e06",
                     *               "address": "bc1qnjg0jd8228aq7egyzacy8cys3knf9xvrerkf9g",
                     *               "network": "BITCOIN"
                     *             }
                     *           },
                     *           "destination": {
                     *             "fiat": {
                     *               "fiat_account_id": "bank-account-1",
                     *               "memo": "savings"
                     *             }
                     *           },
                     *           "identity_id": "person-1001",
                     *           "account_id": "01932b5e-7d1c-7a10-9a54-6f1d2c9b8e01",
                     *           "status": "ACTIVE",
                     *           "created_at": "2026-11-20T12:02:00.000Z"
                     *         }
                     *       ],
                     *       "items": [
                     *         {
                     *           "id": "01932b61-9be2-7e30-a7f6-3d2b8c1e4a04",
                     *           "ref_id": "rule-1001",
                     *           "nickname": "Bitcoin to dollars",
                     *           "profile_id": "01932b5e-7d1c-7a11-8c3e-27a4b1d05f02",
                     *           "source_asset": "BTC",
                     *           "destination_asset": "USD",
                     *           "source": {
                     *             "crypto": {
                     *               "address_id": "01932b61-9be2-7e31-94c0-b8a2d6f71e06",
                     *               "address": "bc1qnjg0jd8228aq7egyzacy8cys3knf9xvrerkf9g",
                     *               "network": "BITCOIN"
                     *             }
                     *           },
                     *           "destination": {
                     *             "fiat": {
                     *               "fiat_account_id": "bank-account-1",
                     *               "memo": "savings"
                     *             }
                     *           },
                     *           "identity_id": "person-1001",
                     *           "account_id": "01932b5e-7d1c-7a10-9a54-6f1d2c9b8e01",
                     *           "status": "ACTIVE",
                     *           "created_at": "2026-11-20T12:02:00.000Z"
                     *         }
                     *       ]
                     *     }
                     */
                    "application/json": {
                        /**
                         * @deprecated
                         * @description Same as `items`; use `items` instead
                         */
                        rules?: components["schemas"]["Rule"][];
                        items: components["schemas"]["Rule"][];
                        /** @description Absent on the last page, and only there: a page may hold fewer items than `limit`, or none, because it ends at 2 MiB and after 5,000 examined records */
                        next_page_cursor?: string;
                    };
                };
            };
            400: components["responses"]["400.invalid_request.invalid_cursor"];
            401: components["responses"]["401.unauthorized.invalid_token"];
            403: components["responses"]["403.insufficient_scope.disabled"];
            408: components["responses"]["408.request_timeout"];
            429: components["responses"]["429.too_many_unread_answers.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable"];
        };
    };
    createRule: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "ref_id": "rule-1001",
                 *       "nickname": "Bitcoin to dollars",
                 *       "profile_id": "01932b5e-7d1c-7a11-8c3e-27a4b1d05f02",
                 *       "source_asset": "BTC",
                 *       "destination_asset": "USD",
                 *       "source": {
                 *         "crypto": {
                 *           "network": "BITCOIN"
                 *         }
                 *       },
                 *       "destination": {
                 *         "fiat": {
                 *           "fiat_account_id": "bank-account-1",
                 *           "memo": "savings"
                 *         }
                 *       }
                 *     }
                 */
                "application/json": {
                    /** @description Your own id, unique among your rules: 409 if it was used before */
                    ref_id: string;
                    nickname?: string;
                    profile_id: string;
                    identity_id?: string;
                    account_id?: string;
                    /** @description Symbol of a configured asset */
                    source_asset: string;
                    /** @description Symbol of a configured asset */
                    destination_asset: string;
                    /** @description The deposits that the rule matches: exactly one of crypto, fiat, profile */
                    source: {
                        crypto?: {
                            /** @enum {string} */
                            network: "BITCOIN" | "BITCOIN_CASH" | "LITECOIN" | "DOGECOIN" | "ETHEREUM" | "POLYGON_POS" | "BASE" | "ARBITRUM_ONE" | "AVALANCHE" | "BNB" | "SOLANA" | "STELLAR" | "POLYGON";
                        };
                        fiat?: {
                            /** @enum {string} */
                            network: "WIRE" | "CUBIX";
                            /**
                             * @description Required for WIRE
                             * @enum {string}
                             */
                            account_type?: "SWIFT" | "ABA";
                        };
                        profile?: {
                            profile_id: string;
                        };
                    };
                    /** @description Where the destination asset is delivered: exactly one of crypto, fiat, profile */
                    destination?: {
                        crypto?: {
                            address: string;
                            /** @enum {string} */
                            network: "BITCOIN" | "BITCOIN_CASH" | "LITECOIN" | "DOGECOIN" | "ETHEREUM" | "POLYGON_POS" | "BASE" | "ARBITRUM_ONE" | "AVALANCHE" | "BNB" | "SOLANA" | "STELLAR" | "POLYGON";
                        };
                        fiat?: {
                            fiat_account_id: string;
                            memo?: string;
                        };
                        profile?: {
                            profile_id: string;
                        };
                    };
                };
            };
        };
        responses: {
            /** @description The rule: ACTIVE, or PENDING if the operator must approve rules */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "rule": {
                     *         "id": "01932b61-9be2-7e30-a7f6-3d2b8c1e4a04",
                     *         "ref_id": "rule-1001",
                     *         "nickname": "Bitcoin to dollars",
                     *         "profile_id": "01932b5e-7d1c-7a11-8c3e-27a4b1d05f02",
                     *         "source_asset": "BTC",
                     *         "destination_asset": "USD",
                     *         "source": {
                     *           "crypto": {
                     *             "address_id": "01932b61-9be2-7e31-94c0-b8a2d6f71e06",
                     *             "address": "bc1qnjg0jd8228aq7egyzacy8cys3knf9xvrerkf9g",
                     *             "network": "BITCOIN"
                     *           }
                     *         },
                     *         "destination": {
                     *           "fiat": {
                     *             "fiat_account_id": "bank-account-1",
                     *             "memo": "savings"
                     *           }
                     *         },
                     *         "identity_id": "person-1001",
                     *         "account_id": "01932b5e-7d1c-7a10-9a54-6f1d2c9b8e01",
                     *         "status": "ACTIVE",
                     *         "created_at": "2026-11-20T12:02:00.000Z"
                     *       }
                     *     }
                     */
                    "application/json": {
                        rule: components["schemas"]["Rule"];
                    };
                };
            };
            400: components["responses"]["400.invalid_request.own_address"];
            401: components["responses"]["401.unauthorized.invalid_token"];
            403: components["responses"]["403.insufficient_scope.disabled.quota_exceeded.account_blocked"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            409: components["responses"]["409.already_exists"];
            413: components["responses"]["413.body_too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            429: components["responses"]["429.too_many_unread_answers.rate_limited.daily_quota_exceeded"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable.address_unavailable.pool_empty.pool_reserved"];
        };
    };
    getRule: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The rule */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "id": "01932b61-9be2-7e30-a7f6-3d2b8c1e4a04",
                     *       "ref_id": "rule-1001",
                     *       "nickname": "Bitcoin to dollars",
                     *       "profile_id": "01932b5e-7d1c-7a11-8c3e-27a4b1d05f02",
                     *       "source_asset": "BTC",
                     *       "destination_asset": "USD",
                     *       "source": {
                     *         "crypto": {
                     *           "address_id": "01932b61-9be2-7e31-94c0-b8a2d6f71e06",
                     *           "address": "bc1qnjg0jd8228aq7egyzacy8cys3knf9xvrerkf9g",
                     *           "network": "BITCOIN"
                     *         }
                     *       },
                     *       "destination": {
                     *         "fiat": {
                     *           "fiat_account_id": "bank-account-1",
                     *           "memo": "savings"
                     *         }
                     *       },
                     *       "identity_id": "person-1001",
                     *       "account_id": "01932b5e-7d1c-7a10-9a54-6f1d2c9b8e01",
                     *       "status": "ACTIVE",
                     *       "created_at": "2026-11-20T12:02:00.000Z"
                     *     }
                     */
                    "application/json": components["schemas"]["Rule"];
                };
            };
            400: components["responses"]["400.invalid_request"];
            401: components["responses"]["401.unauthorized.invalid_token"];
            403: components["responses"]["403.insufficient_scope.disabled"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            429: components["responses"]["429.too_many_unread_answers.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable"];
        };
    };
    deleteRule: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The rule, with status DELETED */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "rule": {
                     *         "id": "01932b61-9be2-7e30-a7f6-3d2b8c1e4a04",
                     *         "ref_id": "rule-1001",
                     *         "nickname": "Bitcoin to dollars",
                     *         "profile_id": "01932b5e-7d1c-7a11-8c3e-27a4b1d05f02",
                     *         "source_asset": "BTC",
                     *         "destination_asset": "USD",
                     *         "source": {
                     *           "crypto": {
                     *             "address_id": "01932b61-9be2-7e31-94c0-b8a2d6f71e06",
                     *             "address": "bc1qnjg0jd8228aq7egyzacy8cys3knf9xvrerkf9g",
                     *             "network": "BITCOIN"
                     *           }
                     *         },
                     *         "destination": {
                     *           "fiat": {
                     *             "fiat_account_id": "bank-account-1",
                     *             "memo": "savings"
                     *           }
                     *         },
                     *         "identity_id": "person-1001",
                     *         "account_id": "01932b5e-7d1c-7a10-9a54-6f1d2c9b8e01",
                     *         "status": "DELETED",
                     *         "created_at": "2026-11-20T12:02:00.000Z"
                     *       }
                     *     }
                     */
                    "application/json": {
                        rule: components["schemas"]["Rule"];
                    };
                };
            };
            400: components["responses"]["400.invalid_request"];
            401: components["responses"]["401.unauthorized.invalid_token"];
            403: components["responses"]["403.insufficient_scope.disabled"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            409: components["responses"]["409.invalid_state"];
            413: components["responses"]["413.body_too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            429: components["responses"]["429.too_many_unread_answers.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable"];
        };
    };
    listOrchestrations: {
        parameters: {
            query?: {
                /** @description Filter by orchestration UUIDs */
                ids?: string[];
                /** @description Filter by orchestrations */
                orchestration_id?: string[];
                /** @description Filter by rules */
                orchestration_rule_id?: string[];
                /** @description The same as orchestration_rule_id */
                orchestration_rule_ids?: string[];
                /** @description Filter by profiles */
                profile_id?: string[];
                /** @description The same as profile_id */
                profile_ids?: string[];
                /** @description Filter by your own ids */
                ref_id?: string[];
                /** @description Filter by source assets */
                source_asset?: string[];
                /** @description Filter by destination assets */
                destination_asset?: string[];
                /** @description Filter by statuses */
                status?: ("PROCESSING" | "COMPLETED" | "FAILED")[];
                /** @description Created strictly before; at most 9 fraction digits */
                "created_at.lt"?: string;
                /** @description Created at or before; at most 9 fraction digits */
                "created_at.lte"?: string;
                /** @description Created exactly at; at most 9 fraction digits */
                "created_at.eq"?: string;
                /** @description Created at or after; at most 9 fraction digits */
                "created_at.gte"?: string;
                /** @description Created strictly after; at most 9 fraction digits */
                "created_at.gt"?: string;
                /** @description Last updated strictly before; at most 9 fraction digits */
                "updated_at.lt"?: string;
                /** @description Last updated at or before; at most 9 fraction digits */
                "updated_at.lte"?: string;
                /** @description Last updated exactly at; at most 9 fraction digits */
                "updated_at.eq"?: string;
                /** @description Last updated at or after; at most 9 fraction digits */
                "updated_at.gte"?: string;
                /** @description Last updated strictly after; at most 9 fraction digits */
                "updated_at.gt"?: string;
                /** @description Maximum number of items: a page also ends at 2 MiB */
                limit?: number;
                /** @description Sort by created_at */
                order?: "DESC" | "ASC";
                /** @description Cursor of the next page: next_page_cursor of the previous page. Empty means the first page */
                page_cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One page of orchestrations */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    "Tidegate-Ignored-Parameters": components["headers"]["Tidegate-Ignored-Parameters"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "orchestrations": [
                     *         {
                     *           "id": "01932b63-4c1d-7f50-8a2b-c3d4e5f60708",
                     *           "customer_id": "01932b50-1a2b-7c3d-8e4f-5a6b7c8d9e05",
                     *           "profile_id": "01932b5e-7d1c-7a11-8c3e-27a4b1d05f02",
                     *           "identity_id": "person-1001",
                     *           "account_id": "01932b5e-7d1c-7a10-9a54-6f1d2c9b8e01",
                     *           "ref_id": "withdrawal-1001",
                     *           "source_asset": "USDC",
                     *           "source_amount": "250.5",
                     *           "destination_asset": "USD",
                     *           "status": "COMPLETED",
                     *           "expires_at": "2026-11-21T12:05:00.000Z",
                     *           "source": {
                     *             "profile": {
                     *               "profile_id": "01932b5e-7d1c-7a11-8c3e-27a4b1d05f02"
                     *             }
                     *           },
                     *           "destination": {
                     *             "fiat": {
                     *               "fiat_account_id": "bank-account-1",
                     *               "memo": "savings"
                     *             }
                     *           },
                     *           "metadata": {
                     *             "invoice": "1001"
                     *           },
                     *           "created_at": "2026-11-20T12:05:00.000Z",
                     *           "updated_at": "2026-11-20T12:06:00.000Z",
                     *           "destination_amount": "250.5",
                     *           "price": "1",
                     *           "price_source": "par",
                     *           "receipt": {
                     *             "initial_amount": "250.5",
                     *             "fee_amount": "0",
                     *             "converted_amount": "250.5",
                     *             "rate": "1",
                     *             "outgoing_amount": "250.5"
                     *           },
                     *           "source_transfer": {
                     *             "transfer_id": "01932b63-4c1e-7a01-9b3c-d4e5f6071819",
                     *             "status": "COMPLETED"
                     *           },
                     *           "destination_transfer": {
                     *             "transfer_id": "01932b63-4c1e-7a02-8c4d-e5f607182930",
                     *             "status": "COMPLETED"
                     *           }
                     *         }
                     *       ],
                     *       "items": [
                     *         {
                     *           "id": "01932b63-4c1d-7f50-8a2b-c3d4e5f60708",
                     *           "customer_id": "01932b50-1a2b-7c3d-8e4f-5a6b7c8d9e05",
                     *           "profile_id": "01932b5e-7d1c-7a11-8c3e-27a4b1d05f02",
                     *           "identity_id": "person-1001",
                     *           "account_id": "01932b5e-7d1c-7a10-9a54-6f1d2c9b8e01",
                     *           "ref_id": "withdrawal-1001",
                     *           "source_asset": "USDC",
                     *           "source_amount": "250.5",
                     *           "destination_asset": "USD",
                     *           "status": "COMPLETED",
                     *           "expires_at": "2026-11-21T12:05:00.000Z",
                     *           "source": {
                     *             "profile": {
                     *               "profile_id": "01932b5e-7d1c-7a11-8c3e-27a4b1d05f02"
                     *             }
                     *           },
                     *           "destination": {
                     *             "fiat": {
                     *               "fiat_account_id": "bank-account-1",
                     *               "memo": "savings"
                     *             }
                     *           },
                     *           "metadata": {
                     *             "invoice": "1001"
                     *           },
                     *           "created_at": "2026-11-20T12:05:00.000Z",
                     *           "updated_at": "2026-11-20T12:06:00.000Z",
                     *           "destination_amount": "250.5",
                     *           "price": "1",
                     *           "price_source": "par",
                     *           "receipt": {
                     *             "initial_amount": "250.5",
                     *             "fee_amount": "0",
                     *             "converted_amount": "250.5",
                     *             "rate": "1",
                     *             "outgoing_amount": "250.5"
                     *           },
                     *           "source_transfer": {
                     *             "transfer_id": "01932b63-4c1e-7a01-9b3c-d4e5f6071819",
                     *             "status": "COMPLETED"
                     *           },
                     *           "destination_transfer": {
                     *             "transfer_id": "01932b63-4c1e-7a02-8c4d-e5f607182930",
                     *             "status": "COMPLETED"
                     *           }
                     *         }
                     *       ],
                     *       "next_page_cursor": "eyJ2IjoxfQ"
                     *     }
                     */
                    "application/json": {
                        /**
                         * @deprecated
                         * @description The same as `items`; use that
                         */
                        orchestrations: components["schemas"]["Orchestration"][];
                        items: components["schemas"]["Orchestration"][];
                        /** @description Absent on the last page, and only there: a page may hold fewer items than `limit`, or none, because it ends at 2 MiB and after 5,000 examined records */
                        next_page_cursor?: string;
                    };
                };
            };
            400: components["responses"]["400.invalid_request.invalid_cursor"];
            401: components["responses"]["401.unauthorized.invalid_token"];
            403: components["responses"]["403.insufficient_scope.disabled"];
            408: components["responses"]["408.request_timeout"];
            429: components["responses"]["429.too_many_unread_answers.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable"];
        };
    };
    createOrchestration: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "ref_id": "withdrawal-1001",
                 *       "source": {
                 *         "profile": {
                 *           "profile_id": "01932b5e-7d1c-7a11-8c3e-27a4b1d05f02"
                 *         }
                 *       },
                 *       "source_asset": "USDC",
                 *       "source_amount": "250.5",
                 *       "destination_asset": "USD",
                 *       "destination": {
                 *         "fiat": {
                 *           "fiat_account_id": "bank-account-1",
                 *           "memo": "savings"
                 *         }
                 *       },
                 *       "metadata": {
                 *         "invoice": "1001"
                 *       }
                 *     }
                 */
                "application/json": {
                    /** @description Your own id; 409 when an orchestration with this id exists */
                    ref_id: string;
                    /** @description The profile whose available balance is debited */
                    source: {
                        profile: {
                            profile_id: string;
                        };
                    };
                    /** @description Symbol of a configured asset */
                    source_asset: string;
                    /** @description Decimal text above zero, such as 12.5 */
                    source_amount: string;
                    /** @description Symbol of a configured asset */
                    destination_asset: string;
                    /** @description Where the destination asset is delivered: exactly one of crypto, fiat, profile */
                    destination?: {
                        crypto?: {
                            address: string;
                            /** @enum {string} */
                            network: "BITCOIN" | "BITCOIN_CASH" | "LITECOIN" | "DOGECOIN" | "ETHEREUM" | "POLYGON_POS" | "BASE" | "ARBITRUM_ONE" | "AVALANCHE" | "BNB" | "SOLANA" | "STELLAR" | "POLYGON";
                        };
                        fiat?: {
                            fiat_account_id: string;
                            memo?: string;
                        };
                        profile?: {
                            profile_id: string;
                        };
                    };
                    metadata?: {
                        [key: string]: string;
                    };
                };
            };
        };
        responses: {
            /** @description The orchestration, with status PROCESSING */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "id": "01932b63-4c1d-7f50-8a2b-c3d4e5f60708",
                     *       "customer_id": "01932b50-1a2b-7c3d-8e4f-5a6b7c8d9e05",
                     *       "profile_id": "01932b5e-7d1c-7a11-8c3e-27a4b1d05f02",
                     *       "identity_id": "person-1001",
                     *       "account_id": "01932b5e-7d1c-7a10-9a54-6f1d2c9b8e01",
                     *       "ref_id": "withdrawal-1001",
                     *       "source_asset": "USDC",
                     *       "source_amount": "250.5",
                     *       "destination_asset": "USD",
                     *       "status": "PROCESSING",
                     *       "expires_at": "2026-11-21T12:05:00.000Z",
                     *       "source": {
                     *         "profile": {
                     *           "profile_id": "01932b5e-7d1c-7a11-8c3e-27a4b1d05f02"
                     *         }
                     *       },
                     *       "destination": {
                     *         "fiat": {
                     *           "fiat_account_id": "bank-account-1",
                     *           "memo": "savings"
                     *         }
                     *       },
                     *       "metadata": {
                     *         "invoice": "1001"
                     *       },
                     *       "created_at": "2026-11-20T12:05:00.000Z",
                     *       "updated_at": "2026-11-20T12:05:00.000Z"
                     *     }
                     */
                    "application/json": components["schemas"]["Orchestration"];
                };
            };
            400: components["responses"]["400.invalid_request.own_address"];
            401: components["responses"]["401.unauthorized.invalid_token"];
            403: components["responses"]["403.insufficient_scope.disabled.account_blocked.insufficient_funds.receivable.paused"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            409: components["responses"]["409.already_exists"];
            413: components["responses"]["413.body_too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            429: components["responses"]["429.too_many_unread_answers.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable"];
        };
    };
    getOrchestration: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The orchestration */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "id": "01932b63-4c1d-7f50-8a2b-c3d4e5f60708",
                     *       "customer_id": "01932b50-1a2b-7c3d-8e4f-5a6b7c8d9e05",
                     *       "profile_id": "01932b5e-7d1c-7a11-8c3e-27a4b1d05f02",
                     *       "identity_id": "person-1001",
                     *       "account_id": "01932b5e-7d1c-7a10-9a54-6f1d2c9b8e01",
                     *       "ref_id": "withdrawal-1001",
                     *       "source_asset": "USDC",
                     *       "source_amount": "250.5",
                     *       "destination_asset": "USD",
                     *       "status": "COMPLETED",
                     *       "expires_at": "2026-11-21T12:05:00.000Z",
                     *       "source": {
                     *         "profile": {
                     *           "profile_id": "01932b5e-7d1c-7a11-8c3e-27a4b1d05f02"
                     *         }
                     *       },
                     *       "destination": {
                     *         "fiat": {
                     *           "fiat_account_id": "bank-account-1",
                     *           "memo": "savings"
                     *         }
                     *       },
                     *       "metadata": {
                     *         "invoice": "1001"
                     *       },
                     *       "created_at": "2026-11-20T12:05:00.000Z",
                     *       "updated_at": "2026-11-20T12:06:00.000Z",
                     *       "destination_amount": "250.5",
                     *       "price": "1",
                     *       "price_source": "par",
                     *       "receipt": {
                     *         "initial_amount": "250.5",
                     *         "fee_amount": "0",
                     *         "converted_amount": "250.5",
                     *         "rate": "1",
                     *         "outgoing_amount": "250.5"
                     *       },
                     *       "source_transfer": {
                     *         "transfer_id": "01932b63-4c1e-7a01-9b3c-d4e5f6071819",
                     *         "status": "COMPLETED"
                     *       },
                     *       "destination_transfer": {
                     *         "transfer_id": "01932b63-4c1e-7a02-8c4d-e5f607182930",
                     *         "status": "COMPLETED"
                     *       }
                     *     }
                     */
                    "application/json": components["schemas"]["Orchestration"];
                };
            };
            400: components["responses"]["400.invalid_request"];
            401: components["responses"]["401.unauthorized.invalid_token"];
            403: components["responses"]["403.insufficient_scope.disabled"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            429: components["responses"]["429.too_many_unread_answers.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable"];
        };
    };
    getOrchestrationPrice: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The evidence of the price */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "orchestration_id": "01932b63-4c1d-7f50-8a2b-c3d4e5f60708",
                     *       "source_asset": "BTC",
                     *       "source_amount": "0.5",
                     *       "destination_asset": "USD",
                     *       "destination_amount": "30000.05",
                     *       "price": "60000.1",
                     *       "price_source": "BTCUSD",
                     *       "evidence": {
                     *         "kind": "market",
                     *         "market": {
                     *           "symbol": "BTCUSD",
                     *           "base_asset": "BTC",
                     *           "quote_asset": "USD",
                     *           "price_decimals": 2
                     *         },
                     *         "side": "bids",
                     *         "book": {
                     *           "cursor": "pEcT_n4Z.48213",
                     *           "time": "2026-11-20T12:05:59.871Z",
                     *           "simulated": false,
                     *           "best_bid": "60000.10",
                     *           "best_ask": "60000.90",
                     *           "mid": "60000.500"
                     *         },
                     *         "taken_before": "0.1",
                     *         "levels": [
                     *           {
                     *             "price": "60000.10",
                     *             "amount": "1.25",
                     *             "taken_before": "0.1",
                     *             "taken": "0.5"
                     *           }
                     *         ],
                     *         "source": {
                     *           "asset": "BTC",
                     *           "decimals": 8,
                     *           "amount": "0.5"
                     *         },
                     *         "base_amount": "0.5",
                     *         "quote_amount": "30000.05",
                     *         "destination": {
                     *           "asset": "USD",
                     *           "decimals": 2,
                     *           "amount": "30000.05"
                     *         },
                     *         "price": "60000.1",
                     *         "settings": {
                     *           "slippage_bps_max": 100,
                     *           "depth_seconds": 10,
                     *           "book_age_seconds_max": 5
                     *         }
                     *       },
                     *       "explanation": {
                     *         "adds_up": true,
                     *         "steps": [
                     *           "1 level of the bids of BTCUSD: 0.5 BTC for 30000.05 USD",
                     *           "the price is 60000.1 USD for 1 BTC; the mid was 60000.500",
                     *           "30000.05 USD is paid as 30000.05; 0 stays with the desk"
                     *         ],
                     *         "differences": []
                     *       },
                     *       "created_at": "2026-11-20T12:06:00.000Z"
                     *     }
                     */
                    "application/json": components["schemas"]["Price"];
                };
            };
            400: components["responses"]["400.invalid_request"];
            401: components["responses"]["401.unauthorized.invalid_token"];
            403: components["responses"]["403.insufficient_scope.disabled"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            429: components["responses"]["429.too_many_unread_answers.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable"];
        };
    };
    cancelOrchestration: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                /** @example {} */
                "application/json": Record<string, never>;
            };
        };
        responses: {
            /** @description The orchestration, with status FAILED */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "id": "01932b63-4c1d-7f50-8a2b-c3d4e5f60708",
                     *       "customer_id": "01932b50-1a2b-7c3d-8e4f-5a6b7c8d9e05",
                     *       "profile_id": "01932b5e-7d1c-7a11-8c3e-27a4b1d05f02",
                     *       "identity_id": "person-1001",
                     *       "account_id": "01932b5e-7d1c-7a10-9a54-6f1d2c9b8e01",
                     *       "ref_id": "withdrawal-1001",
                     *       "source_asset": "USDC",
                     *       "source_amount": "250.5",
                     *       "destination_asset": "USD",
                     *       "status": "FAILED",
                     *       "expires_at": "2026-11-21T12:05:00.000Z",
                     *       "source": {
                     *         "profile": {
                     *           "profile_id": "01932b5e-7d1c-7a11-8c3e-27a4b1d05f02"
                     *         }
                     *       },
                     *       "destination": {
                     *         "fiat": {
                     *           "fiat_account_id": "bank-account-1",
                     *           "memo": "savings"
                     *         }
                     *       },
                     *       "metadata": {
                     *         "invoice": "1001"
                     *       },
                     *       "created_at": "2026-11-20T12:05:00.000Z",
                     *       "updated_at": "2026-11-20T12:06:00.000Z",
                     *       "fail_reason": {
                     *         "code": "CANCELLED",
                     *         "detail": "cancelled by the customer"
                     *       }
                     *     }
                     */
                    "application/json": components["schemas"]["Orchestration"];
                };
            };
            400: components["responses"]["400.invalid_request"];
            401: components["responses"]["401.unauthorized.invalid_token"];
            403: components["responses"]["403.insufficient_scope.disabled"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            409: components["responses"]["409.invalid_state"];
            413: components["responses"]["413.body_too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            429: components["responses"]["429.too_many_unread_answers.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable"];
        };
    };
    createSandboxDeposit: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                profile_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "asset": "USDC",
                 *       "amount": "100",
                 *       "crypto_network": "ETHEREUM"
                 *     }
                 */
                "application/json": {
                    asset: string;
                    amount: string;
                    /** @description Your own id: a repeated one creates nothing */
                    ref_id?: string;
                    /** @enum {string} */
                    crypto_network?: "BITCOIN" | "BITCOIN_CASH" | "LITECOIN" | "DOGECOIN" | "ETHEREUM" | "POLYGON_POS" | "BASE" | "ARBITRUM_ONE" | "AVALANCHE" | "BNB" | "SOLANA" | "STELLAR" | "POLYGON";
                    crypto_address?: string;
                    memo_id?: string;
                };
            };
        };
        responses: {
            /** @description The deposit as a transfer */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    RateLimit: components["headers"]["RateLimit"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "id": "01932b70-4c1d-7d55-9a0e-8b7f6e5d4c06",
                     *       "customer_id": "01932b50-1a2b-7c3d-8e4f-5a6b7c8d9e05",
                     *       "profile_id": "01932b5e-7d1c-7a11-8c3e-27a4b1d05f02",
                     *       "account_id": "01932b5e-7d1c-7a10-9a54-6f1d2c9b8e01",
                     *       "asset": "USDC",
                     *       "amount": "100",
                     *       "fee": "0",
                     *       "total": "100",
                     *       "direction": "CREDIT",
                     *       "type": "CRYPTO_DEPOSIT",
                     *       "status": "COMPLETED",
                     *       "disposition": {
                     *         "code": "ORCHESTRATED"
                     *       },
                     *       "crypto_network": "ETHEREUM",
                     *       "crypto_tx_hash": "0x9f2c1a7be04d5f3866c1d2a95b7e8f0c4d3a2b1e6f5c8d7a9b0e1f2a3c4d5e6f",
                     *       "crypto_tx_index": 0,
                     *       "group_id": "01932b70-4c1d-7d55-9a0e-8b7f6e5d4c06",
                     *       "metadata": {},
                     *       "created_at": "2026-11-20T12:05:00.000Z",
                     *       "updated_at": "2026-11-20T12:05:00.000Z"
                     *     }
                     */
                    "application/json": components["schemas"]["Transfer"];
                };
            };
            400: components["responses"]["400.invalid_request"];
            401: components["responses"]["401.unauthorized.invalid_token"];
            403: components["responses"]["403.insufficient_scope.disabled"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            409: components["responses"]["409.already_exists"];
            413: components["responses"]["413.body_too_large"];
            415: components["responses"]["415.unsupported_media_type"];
            429: components["responses"]["429.too_many_unread_answers.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.unavailable"];
        };
    };
}
