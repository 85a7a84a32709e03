// Made by scripts/types.mjs of the API's document. `make web-types` makes it anew.
export type paths = Record<string, never>;
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        /** @description Who may see a volume. */
        Access: {
            /** @description Every host. */
            allow_any: boolean;
            /** @description These hosts. */
            hosts: string[];
        };
        /** @description A key to be registered. */
        AddKey: {
            /** @description Its name, as that of a token. */
            name: string;
            /** @description The public key, in PEM: of Ed25519 (for EdDSA) or RSA (for RS256). */
            public_key_pem: string;
            /** @description What those may do at most who show a token that it has signed. */
            role: components["schemas"]["Role"];
        };
        /** @description What would be if one more drive of a pool were lost: the one whose loss would be worst. */
        AfterLoss: {
            /** @description The drive's name within the pool. */
            drive: string;
            /** @description Why it does not survive. Null: it does. */
            problem?: string | null;
            /**
             * Format: int64
             * @description So much more lives than may without the drive: new data would be refused. Null: room is not
             *     what it lacks.
             */
            short_bytes?: number | null;
            /**
             * Format: int64
             * @description What may be written before it no longer survives. Null: it does not.
             */
            spare_bytes?: number | null;
            /** @description Hosts' writes would go on, and all that lived on it would be restored on others. */
            survives: boolean;
        };
        /** @description Something that is not well, for as long as it is not. */
        Alert: {
            /**
             * @description A word that does not change: the state of the pool or drive, the `kind` of what the drive
             *     warns of, `spare_refused`, `reserve_released`, `no_second_loss`, `data_unreadable`,
             *     `scrub_unrepaired`, `ledger_differs`, `rebuild_stuck` or `daemon_warning`.
             */
            code: string;
            /** @description The drive that it is about, by its name within the pool. */
            drive?: string | null;
            /** @description For people: what to do. Null: nothing, or the message says it. */
            hint?: string | null;
            /** @description For people: what, and why. */
            message: string;
            /** @description The pool that it is about. Null: the daemon. */
            pool?: string | null;
            /** @description How bad it is. */
            severity: components["schemas"]["Severity"];
        };
        /** @description A change that somebody has asked for, as the audit log keeps it. */
        AuditEntry: components["schemas"]["Deed"] & {
            /**
             * Format: int64
             * @description Grows from entry to entry.
             */
            seq: number;
            /**
             * Format: date-time
             * @description When it was answered: RFC 3339, UTC.
             */
            time: string;
        };
        /** @description What is to change of a policy. */
        ChangePolicy: {
            /** @description Its limits. */
            limits?: components["schemas"]["SetLimits"];
            /**
             * Format: int32
             * @description From 1 to 1000.
             */
            weight?: number | null;
        };
        /** @description What is to change of an operator's choices for a pool. */
        ChangePool: {
            /** @description Whether drives are told of space as it becomes free. */
            autotrim?: boolean | null;
            /**
             * Format: int32
             * @description Refused reads and wrong answers of a drive within ten minutes for which it is given up,
             *     where redundancy allows; 0: never.
             */
            fault_threshold?: number | null;
            /**
             * Format: int64
             * @description Seconds for which a drive may give no answer at all before it is given up, where redundancy
             *     allows, from two seconds to an hour; 0: for ever.
             */
            io_timeout_seconds?: number | null;
            /** @description Whether volumes may be promised more than is formatted. */
            overcommit?: boolean | null;
            /**
             * Format: int64
             * @description Instead of that, the time within which 99 of 100 answers to hosts are to come while there is
             *     a rebuild, in microseconds, up to a minute; 0: `recon_prio_percent` counts.
             */
            recon_p99_us?: number | null;
            /**
             * Format: int32
             * @description Part of the time that the rebuild of lost drives may have, in percent: 1 to 100. Without
             *     `recon_p99_us` it takes the place of one that was set before.
             */
            recon_prio_percent?: number | null;
            /**
             * Format: int64
             * @description Seconds from the end of one scrub to the next, up to 3650 days; 0: only on demand.
             */
            scrub_interval_seconds?: number | null;
            /**
             * Format: int32
             * @description Part of the time that scrubs may have, in percent: 1 to 100.
             */
            scrub_prio_percent?: number | null;
            /**
             * Format: int32
             * @description The same when new data is refused.
             */
            stop_percent?: number | null;
            /**
             * Format: int32
             * @description The same when hosts begin to write slower.
             */
            throttle_percent?: number | null;
            /**
             * Format: int32
             * @description How far what may live is used, in percent, when the pool is `nearly-full`: 1 to 100, and not
             *     above `stop_percent`.
             */
            warn_percent?: number | null;
        };
        /** @description What is to change of a volume. */
        ChangeVolume: {
            /**
             * Format: int64
             * @description The largest write that hosts are told is atomic: a power of two from 4096 to 262144, and not
             *     more than the pool writes as one; 0: they are told of none.
             */
            atomic_write_bytes?: number | null;
            /**
             * @description How its blocks are stored from now on: `none`, `lz4`, `zstd`, `zstd:1` to `zstd:19`, or
             *     `auto`.
             */
            compression?: string | null;
            /** @description Its new name. */
            name?: string | null;
            /**
             * @description The policy of its pool that counts for it; `none`: it is not limited; `default`: what counts
             *     for volumes of which nothing is said.
             */
            qos?: string | null;
            /**
             * Format: int64
             * @description Its new size.
             */
            size_bytes?: number | null;
            /** @description Whether hosts may not write; what a host has set by Namespace Write Protection, too. */
            write_protected?: boolean | null;
        };
        /** @description Which policy is to count for volumes of which nothing is said. */
        ChooseDefaultPolicy: {
            /** @description Its name. Null: none is. */
            policy: string | null;
        };
        /** @description Commands of one kind that were answered. */
        CommandCounts: {
            /**
             * Format: int64
             * @description How many.
             */
            operations: number;
            /**
             * Format: int64
             * @description The bytes that they were for.
             */
            transferred_bytes: number;
        };
        /** @description A policy to be made. */
        CreatePolicy: {
            /** @description How much its volumes may take at most. */
            limits?: components["schemas"]["SetLimits"];
            /** @description Its name. */
            name: string;
            /**
             * Format: int32
             * @description From 1 to 1000; 100 if not given.
             */
            weight?: number | null;
        };
        /** @description A pool to be made. */
        CreatePool: {
            /**
             * Format: int32
             * @description A power of two; chosen by the drives' size if not given.
             */
            chunk_bytes?: number | null;
            /** @description Its drives. */
            drives: string[];
            /** @description Take drives that hold something: it is lost. */
            force?: boolean;
            /**
             * @description 0, 1, 1x3, 5, 6, 7.3 or N+M. Of groups, 10, 50, 60 and 70, it becomes 1, 5, 6 and 7.3, and
             *     `notes` of the answer say why.
             */
            level: string;
            /** @description Its name. */
            name: string;
            /** @description Volumes may be promised more than is formatted. */
            overcommit?: boolean;
        };
        /** @description A token to be made. */
        CreateToken: {
            /**
             * Format: int64
             * @description Seconds until it expires; without that it never does.
             */
            expires_seconds?: number | null;
            /** @description Its name, of up to 64 letters, digits, dots, underscores and hyphens. */
            name: string;
            /** @description What whoever shows it may do. */
            role: components["schemas"]["Role"];
        };
        /** @description A volume to be made. */
        CreateVolume: {
            /** @description `any`, `none`, or host NQNs. */
            allow?: string[];
            /** @description `none`, `lz4`, `zstd`, `zstd:1` to `zstd:19`, or `auto`. */
            compression?: string;
            /**
             * Format: int32
             * @description 512 or 4096.
             */
            lba_bytes?: number;
            /** @description Its name. */
            name: string;
            /** @description Its pool. */
            pool: string;
            /**
             * Format: int64
             * @description Its size, a multiple of 4096.
             */
            size_bytes: number;
        };
        /** @description A rebuild, an evacuation or a rebalance: data is written to other drives than it was on. */
        DataMove: {
            /**
             * Format: double
             * @description Part that is done, or was when it ended.
             */
            done_percent: number;
            /**
             * @description The drives that were lost, or are to leave the pool: names within the pool. Empty: of a
             *     rebalance.
             */
            drives: string[];
            /**
             * Format: date-time
             * @description RFC 3339, UTC; null while it goes on.
             */
            finished_at?: string | null;
            /** @description `rebuild`, `evacuation` or `rebalance`. */
            kind: components["schemas"]["JobKind"];
            /**
             * Format: int64
             * @description Bytes of columns that were written meanwhile. What a rebuild and an evacuation write at the
             *     same time counts for both.
             */
            moved_bytes: number;
            /** @description Why it has failed. Null: it has not. */
            problem?: string | null;
            /**
             * Format: date-time
             * @description RFC 3339, UTC. Null: before the pool was opened.
             */
            started_at?: string | null;
            /**
             * @description One of `running`, `finished`, `stopped` (what was not moved stays where it is) and `failed`
             *     (see `problem`).
             */
            states: string[];
            /**
             * Format: int64
             * @description Seconds from its beginning to its end. Null: it goes on, or began before the pool was
             *     opened.
             */
            took_seconds?: number | null;
        };
        /** @description A change that somebody has asked for, and what came of it. */
        Deed: {
            /** @description Where they come from, if that is another machine. */
            address?: string | null;
            /** @description Who has asked, for people. */
            caller: string;
            /** @description The code of the refusal. */
            code?: string | null;
            /** @description The same, as the command line calls it. */
            command: string;
            /** @description What was asked for, as the OpenAPI document calls it. */
            operation: string;
            /**
             * Format: int32
             * @description Their process.
             */
            pid?: number | null;
            /** @description The pool's name, as it was asked for. */
            pool?: string | null;
            /**
             * @description The pool's identity, which it keeps under another name. Null: there was no such pool, or the
             *     entry is of an earlier release.
             */
            pool_uuid?: string | null;
            /** @description Why it failed or was refused, for people. */
            problem?: string | null;
            /** @description What the request has brought, cut at 4KiB, or at 256 bytes where it was not done. */
            request: string;
            /**
             * @description What came of it: `done`, `failed` (it may be done in part), `refused`, or `asked` (the
             *     client was asked for confirmation).
             */
            result: string;
            /** @description What they may do. */
            role: components["schemas"]["Role"];
            /** @description What else it was about, by its name: a token, key, policy, drive, receiver or kind of job. */
            target?: string | null;
            /**
             * Format: int32
             * @description The user of this machine, if it was one.
             */
            uid?: number | null;
            /** @description The volume's name within the pool. */
            volume?: string | null;
        };
        /** @description The erase of a drive whose pool was destroyed. */
        DriveErase: {
            /**
             * Format: int64
             * @description What of that is erased.
             */
            done_bytes: number;
            /**
             * Format: double
             * @description The same as a part.
             */
            done_percent: number;
            /**
             * @description How: `discard` (the drive is told that nothing of it is needed) or `overwrite` (zeros are
             *     written over all of it). Null: nothing is done to it.
             */
            method?: string | null;
            /** @description The name that its pool had. */
            pool: string;
            /** @description That pool's identity. */
            pool_uuid: string;
            /** @description Why it was not erased. */
            problem?: string | null;
            /**
             * Format: int64
             * @description Its size. Null: it was not there.
             */
            size_bytes?: number | null;
            /** @description The drive, as it is named; of one that was not there, POOL/DRIVE. */
            spec: string;
            /** @description One of `running`, `finished`, `failed`, and `missing`: the drive was not there. */
            states: string[];
        };
        /**
         * @description What a drive says of its health. The daemon asks now and then, and wakes no drive for that. Null
         *     is what the drive does not say.
         */
        DriveHealth: {
            /** @description Why it says nothing, or nothing since then. Null: it answers. */
            absent?: string | null;
            /**
             * Format: int64
             * @description Seconds since it has answered last. Null: it never has.
             */
            answer_age_seconds?: number | null;
            /** @description The version of its firmware. */
            firmware?: string | null;
            /** @description How fast it is connected: `16.0 GT/s PCIe`, `6.0 Gbps`. */
            link_speed?: string | null;
            /** @description How fast it could be. */
            link_speed_max?: string | null;
            /**
             * Format: int32
             * @description By how many lanes it is connected.
             */
            link_width?: number | null;
            /**
             * Format: int32
             * @description How many it has.
             */
            link_width_max?: number | null;
            /**
             * Format: int64
             * @description Times that it could not give back what it was to keep, over its life.
             */
            media_errors?: number | null;
            /**
             * @description What it takes power for: `active`, `idle`, `standby`, `asleep` (it was not asked for the
             *     rest), or the power state of an NVMe drive: `0`, which takes most, and further.
             */
            power?: string | null;
            /**
             * Format: int32
             * @description What it takes at most in that power state, in milliwatts.
             */
            power_max_milliwatts?: number | null;
            /**
             * Format: int64
             * @description Hours that it was on.
             */
            power_on_hours?: number | null;
            /**
             * Format: int64
             * @description Bytes that it was asked to read, over its life.
             */
            read_bytes?: number | null;
            /**
             * Format: int32
             * @description Spare blocks that are left.
             */
            spare_percent?: number | null;
            /**
             * Format: int32
             * @description Below that it warns.
             */
            spare_threshold_percent?: number | null;
            /**
             * Format: int32
             * @description Its temperature now, in degrees Celsius.
             */
            temperature_celsius?: number | null;
            /**
             * Format: int32
             * @description From there on it may stop to save itself.
             */
            temperature_critical_celsius?: number | null;
            /**
             * Format: int32
             * @description From there on the drive calls itself too hot.
             */
            temperature_max_celsius?: number | null;
            /**
             * Format: int64
             * @description Times that it lost its power without notice.
             */
            unsafe_shutdowns?: number | null;
            /**
             * Format: int32
             * @description What it has spent of the life that it was made for; more than 100 is possible.
             */
            used_percent?: number | null;
            /** @description What is wrong with it. */
            warnings: components["schemas"]["DriveWarning"][];
            /**
             * @description It has a volatile write cache, and that is on: what a loss of power empties, until it is
             *     flushed.
             */
            write_cache?: boolean | null;
            /**
             * Format: int64
             * @description Bytes that it was given to write, over its life, by whomever.
             */
            written_bytes?: number | null;
        };
        /** @description What a drive is and holds. */
        DriveInfo: {
            /** @description What it holds, in words; `nothing` if it is blank. */
            content: string;
            /** @description What it says of its health, where it is asked. */
            health: components["schemas"]["DriveHealth"];
            /** @description `file`, `block device`, `memory`. */
            kind: string;
            /** @description The device's model. */
            model?: string | null;
            /** @description The pool that it is a member of. */
            pool?: string | null;
            /** @description That pool's identity. */
            pool_uuid?: string | null;
            /** @description The device's serial number. */
            serial?: string | null;
            /**
             * Format: int64
             * @description Its size.
             */
            size_bytes: number;
            /** @description The slot that it is in. Null: the kernel knows none whose light it can switch. */
            slot?: string | null;
            /** @description How it was named. */
            spec: string;
            /** @description One of `blank`, `member`, `damaged` and `foreign`. */
            states: string[];
        };
        /** @description A drive whose light was switched. */
        DriveLight: {
            /** @description The drive, as it was named. */
            drive: string;
            /** @description Whether its light is on. */
            on: boolean;
            /** @description The slot that it is in, or was last. */
            slot: string;
        };
        /** @description A drive that a pool could take. */
        DrivePlan: {
            /** @description The drive, with what it holds: that would be lost. */
            drive: components["schemas"]["DriveInfo"];
            /** @description The pool. */
            pool: string;
            /**
             * Format: int64
             * @description The room that it would bring, redundancy included.
             */
            raw_bytes: number;
            /** @description The member that would go. */
            replaces?: string | null;
        };
        /** @description Something that is wrong with a drive. */
        DriveWarning: {
            /**
             * @description What: `failing`, `spare_low`, `worn`, `media_errors`, `hot` or `link_degraded`. The event
             *     has `drive_` in front.
             */
            kind: string;
            /** @description Why, and what to do. */
            message: string;
            /** @description How bad it is. */
            severity: components["schemas"]["Severity"];
        };
        /** @description What a code of an error means. */
        ErrorMeaning: {
            /** @description The code. */
            code: string;
            /** @description What it means to whoever gets it. */
            detail: string;
            /**
             * Format: int32
             * @description The status of answers with it.
             */
            status: number;
            /** @description What it means, in some words. */
            title: string;
        };
        /** @description Something that has happened, as the log of events keeps it. */
        Event: components["schemas"]["Happening"] & {
            /**
             * Format: int64
             * @description Grows by one from event to event, and from one start of the daemon to the next, unless its
             *     clock was set back.
             */
            seq: number;
            /**
             * Format: date-time
             * @description When it was noticed: RFC 3339, UTC.
             */
            time: string;
        };
        /** @description What a kind of event means. */
        EventMeaning: {
            /** @description What it means. */
            detail: string;
            /** @description What to do, of a POOL and a DRIVE; null where nothing is to be done, or the state says it. */
            hint?: string | null;
            /** @description The kind. */
            kind: string;
        };
        /** @description A drive of a pool, to be given up. */
        FailDrive: {
            /** @description Its name, its number, or where it is. */
            drive: string;
            /** @description Also if data cannot be read without it. */
            force?: boolean;
        };
        /** @description Where unused drives are looked for. */
        FindDrives: {
            /** @description Drives, and directories with drives. Empty: all block devices of the machine. */
            drives?: string[];
        };
        /** @description Where pools are looked for. */
        FindPools: {
            /** @description Drives, and directories with drives. Empty: all block devices of the machine. */
            drives?: string[];
        };
        /** @description Something that has happened. */
        Happening: {
            /** @description Where the host's connection, or whoever is kept out, comes from. */
            address?: string | null;
            /** @description Why, where that is known: the end of the message on its own. */
            cause?: string | null;
            /**
             * Format: int32
             * @description The host's controller.
             */
            controller_id?: number | null;
            /**
             * Format: int32
             * @description Part of a rebuild, an evacuation or a rebalance that is done.
             */
            done_percent?: number | null;
            /** @description The drive's name within the pool. */
            drive?: string | null;
            /**
             * Format: int64
             * @description Seconds until it is done, if it goes on as in the last half minute; null while that is not
             *     known.
             */
            eta_seconds?: number | null;
            /** @description For people: what to do; null where nothing is to be done. */
            hint?: string | null;
            /** @description The host's NQN. */
            host?: string | null;
            /** @description The NQNs of the hosts, where the event is about many; empty otherwise. */
            hosts: string[];
            /** @description What has happened: `/api/v1/event-kinds` lists which there are. */
            kind: string;
            /**
             * Format: int64
             * @description Bytes of columns that are left of it.
             */
            left_bytes?: number | null;
            /** @description For people: what has happened, with its cause. */
            message: string;
            /** @description What was asked for, as the command line calls it. */
            operation?: string | null;
            /**
             * Format: int32
             * @description The process that asked.
             */
            pid?: number | null;
            /** @description The pool's name. */
            pool?: string | null;
            /**
             * @description Why it has ended, for programs: one of `host_disconnected`, `keep_alive_expired`,
             *     `connection_lost`, `host_terminated`, `digest_error`, `protocol_error`, `transfer_timeout`,
             *     `send_failed`, `connect_unfinished` and `daemon_stopping`; null otherwise.
             */
            reason?: string | null;
            /** @description The receiver of events, by its name, that the event is about. */
            receiver?: string | null;
            /** @description What came of it: `done`, `failed` (it may be done in part) or `refused`. */
            result?: string | null;
            /** @description How bad it is. */
            severity: components["schemas"]["Severity"];
            /**
             * @description What was entered or left, in the words of pools and drives; empty if the event is about
             *     something else.
             */
            states: string[];
            /**
             * Format: int32
             * @description The user who asked.
             */
            uid?: number | null;
            /** @description The volume's name within the pool. */
            volume?: string | null;
        };
        /** @description A host's controller. */
        Host: {
            /** @description Where it comes from. */
            address: string;
            /**
             * Format: date-time
             * @description When it connected: RFC 3339, UTC.
             */
            connected_at: string;
            /**
             * Format: int32
             * @description The controller's number.
             */
            controller_id: number;
            /** @description The host's identifier, as a UUID. */
            host_id: string;
            /**
             * Format: int32
             * @description I/O queues that are connected.
             */
            io_queues: number;
            /**
             * Format: int32
             * @description I/O queues that it may connect: what it has asked for, as far as it was granted.
             */
            io_queues_max: number;
            /** @description `io` or `discovery`. */
            kind: string;
            /** @description The host's name. */
            nqn: string;
            /** @description Reads that this controller was answered. */
            reads: components["schemas"]["CommandCounts"];
            /** @description Dataset Management that deallocates, and Write Zeroes. */
            trims: components["schemas"]["CommandCounts"];
            /** @description Writes. */
            writes: components["schemas"]["CommandCounts"];
        };
        /** @description A pool to be opened. */
        ImportPool: {
            /** @description Open it even if drives are missing, as many as its level survives. */
            degraded?: boolean;
            /** @description Where its drives may be. */
            drives: string[];
            /** @description The name that it is to have from then on, instead of its own. */
            name?: string | null;
            /**
             * @description Its name or UUID, if the drives belong to several. Of several pools of one name the UUID
             *     tells which.
             */
            pool?: string | null;
        };
        /** @description A pool that `pool import` may open. */
        ImportablePool: {
            /** @description Its drives that were found, by their places. */
            drives: string[];
            /**
             * Format: int32
             * @description Members that it had when it was made; drives may have come and gone since.
             */
            drives_made_with: number;
            /** @description 0, 1, 1x3, 5, 6, 7.3 or N+M. */
            level: string;
            /** @description Its name. */
            name: string;
            /** @description What damaged drives hold that were found, and why others could not be read. */
            notes: string[];
            /** @description Its identity. */
            uuid: string;
        };
        /**
         * @description Operations of one kind that have ended. Of two answers the differences are what came between;
         *     whoever finds less in the later one has it from another start of the daemon, or another opening.
         */
        IoCounts: {
            /**
             * @description `[from, operations]`: how many took so many microseconds or more, and less than where the
             *     next bucket could begin. Buckets below 64 µs have 1 µs; each octave from there on has 64 of
             *     the same width. Those without operations are left out.
             */
            buckets: number[][];
            /**
             * Format: int64
             * @description The longest.
             */
            max_us: number;
            /**
             * Format: int64
             * @description How many.
             */
            operations: number;
            /**
             * Format: int64
             * @description The sum of what they took.
             */
            total_us: number;
            /**
             * Format: int64
             * @description The bytes that they were for.
             */
            transferred_bytes: number;
        };
        /** @description What goes on in pools, volumes and drives. */
        IoStat: {
            /** @description Drives. */
            drives: components["schemas"]["IoStatDrive"][];
            /** @description Another text after each start of the daemon: counts begin at 0 then. */
            instance: string;
            /** @description Pools that are wanted as a whole: what goes on in them is the sum of their volumes. */
            pools: components["schemas"]["IoStatPool"][];
            /**
             * @description Reactors look for work before they sleep (`spin_us`): that is in their processor time, which
             *     then does not say how busy they are.
             */
            reactors_spin?: boolean;
            /** @description Threads of the daemon: those called `reactor-0` and so on serve hosts and pools. */
            threads?: components["schemas"]["ThreadFigures"][];
            /**
             * Format: double
             * @description Seconds since the daemon started, when this was read.
             */
            uptime_seconds: number;
            /** @description Volumes, in the order of their names. */
            volumes: components["schemas"]["IoStatVolume"][];
        };
        /** @description Operations of a pool on a drive, since it was opened. */
        IoStatDrive: {
            /**
             * Format: double
             * @description For how long there was at least one. A drive that does several at a time may have more to
             *     give although it is busy all the time.
             */
            busy_seconds: number;
            /** @description Its name within the pool. */
            name: string;
            /**
             * Format: int64
             * @description Operations that it has not answered yet.
             */
            operations_in_flight: number;
            /** @description Its pool. */
            pool: string;
            /** @description Reads. */
            reads: components["schemas"]["IoCounts"];
            /** @description Where it is. */
            spec: string;
            /** @description Discards. */
            trims: components["schemas"]["IoCounts"];
            /** @description Its identity as a member. */
            uuid: string;
            /** @description Writes. */
            writes: components["schemas"]["IoCounts"];
        };
        /** @description A pool. */
        IoStatPool: {
            /**
             * Format: double
             * @description Logical over stored data. Null: nothing is stored.
             */
            compression_ratio?: number | null;
            /** @description Its name. */
            name: string;
            /** @description Its identity. */
            uuid: string;
        };
        /**
         * @description Commands of hosts for a volume, since the daemon started or its pool was imported. A command
         *     counts from when it has come whole until its answer is sent.
         */
        IoStatVolume: {
            /**
             * Format: double
             * @description Logical over stored data. Null: nothing is stored.
             */
            compression_ratio?: number | null;
            /**
             * Format: int64
             * @description Commands that have waited for them.
             */
            delayed_operations: number;
            /**
             * Format: double
             * @description How long those have waited, all together.
             */
            delayed_seconds: number;
            /** @description Its name. */
            name: string;
            /**
             * Format: int64
             * @description Commands that are not answered yet.
             */
            operations_in_flight: number;
            /** @description Its pool. */
            pool: string;
            /** @description Read. */
            reads: components["schemas"]["IoCounts"];
            /** @description Dataset Management that deallocates, and Write Zeroes. */
            trims: components["schemas"]["IoCounts"];
            /** @description Its identity. */
            uuid: string;
            /**
             * Format: int64
             * @description Commands that wait for the limits of its policy.
             */
            waiting_operations: number;
            /** @description Write. */
            writes: components["schemas"]["IoCounts"];
        };
        /** @description Work that goes on in the background, or the last of its kind. */
        Job: {
            /** @description It may be stopped now. */
            can_stop: boolean;
            /**
             * Format: int64
             * @description What it has moved, read, told drives of or erased so far. Null: it counts no bytes.
             */
            done_bytes?: number | null;
            /**
             * Format: double
             * @description Part that is done.
             */
            done_percent: number;
            /**
             * @description The drives that it is about, by their names within the pool; of an erase by their places.
             *     Empty: it is about the whole pool.
             */
            drives: string[];
            /**
             * Format: int64
             * @description Seconds until it is done. Null: nobody knows, or it is.
             */
            eta_seconds?: number | null;
            /**
             * Format: date-time
             * @description RFC 3339, UTC. Null: it goes on, or nobody knows.
             */
            finished_at?: string | null;
            /**
             * @description Its pool and its kind, as `tank/scrub`: its path below `/jobs`. Of an erase the pool is its
             *     UUID, for the name is free again.
             */
            id: string;
            /** @description What is done. */
            kind: components["schemas"]["JobKind"];
            /**
             * Format: int64
             * @description What is left of it. Null: nobody knows, or nothing is.
             */
            left_bytes?: number | null;
            /** @description The pool's name. */
            pool: string;
            /** @description The pool's identity. */
            pool_uuid: string;
            /** @description Why it does not go on, or has failed. Null: it goes on, or is done. */
            problem?: string | null;
            /** @description What it has come to so far, in words. Null: there is nothing to say. */
            result?: string | null;
            /**
             * Format: date-time
             * @description RFC 3339, UTC. Null: it began before the pool was opened, or nobody knows.
             */
            started_at?: string | null;
            /** @description One of `running`, `waiting` (`problem` says for what), `finished`, `stopped`, and `failed`. */
            states: string[];
        };
        /**
         * @description What a job does.
         * @enum {string}
         */
        JobKind: "rebuild" | "evacuation" | "rebalance" | "scrub" | "trim" | "verify" | "erase";
        /** @description A registered key. */
        Key: {
            /** @description `EdDSA` or `RS256`. */
            algorithm: string;
            /**
             * Format: date-time
             * @description When it was registered: RFC 3339, UTC.
             */
            created_at: string;
            /** @description Its name. */
            name: string;
            /** @description What those may do at most who show a token that it has signed. */
            role: components["schemas"]["Role"];
        };
        /** @description How long operations of one kind took. */
        KindLatency: {
            /** @description All of them. */
            all: components["schemas"]["SizedLatency"];
            /** @description By their size, the smallest first; sizes that never came are left out. */
            classes: components["schemas"]["SizedLatency"][];
        };
        /** @description How long operations of a volume or a drive took. */
        Latency: {
            /** @description As in [`IoStat`]. */
            instance: string;
            /** @description Its name in the pool. */
            name: string;
            /**
             * Format: int64
             * @description Operations that are not answered yet.
             */
            operations_in_flight: number;
            /** @description Its pool. */
            pool: string;
            /** @description Reads. */
            reads: components["schemas"]["KindLatency"];
            /** @description Of a volume Dataset Management that deallocates, and Write Zeroes; of a drive discards. */
            trims: components["schemas"]["KindLatency"];
            /** @description Writes. */
            writes: components["schemas"]["KindLatency"];
        };
        /** @description How long operations took. */
        LatencyFigures: {
            /**
             * Format: int64
             * @description The longest.
             */
            max_us?: number | null;
            /**
             * Format: double
             * @description The mean. This and what follows is null where there were no operations.
             */
            mean_us?: number | null;
            /**
             * Format: int64
             * @description Half took no longer.
             */
            p50_us?: number | null;
            /**
             * Format: int64
             * @description 90 % took no longer.
             */
            p90_us?: number | null;
            /**
             * Format: int64
             * @description 99.99 % took no longer.
             */
            p9999_us?: number | null;
            /**
             * Format: int64
             * @description 99.9 % took no longer.
             */
            p999_us?: number | null;
            /**
             * Format: int64
             * @description 99 % took no longer.
             */
            p99_us?: number | null;
        };
        /** @description A drive whose light is to be switched, so that people find it. */
        LocateDrive: {
            /** @description The drive: POOL/DRIVE of an open pool, also one that is lost, or the path of a block device. */
            drive: string;
            /** @description Whether its light is to be on. */
            on: boolean;
        };
        /** @description What the data of such an event is. */
        Look: components["schemas"]["Status"] | components["schemas"]["IoStat"] | components["schemas"]["Job"][];
        /** @description A drive, by how people name it. */
        NameDrive: {
            /** @description The drive. */
            drive: string;
            /** @description Go on although it holds something that is not Ashlar's: it is lost. */
            force?: boolean;
        };
        /** @description Hosts to allow or deny. */
        NameHosts: {
            /** @description NQNs; `any` for every host, as one that was allowed; to deny also `all`, for every host. */
            hosts: string[];
            /** @description To allow: these hosts alone, whoever might see it before. */
            only?: boolean;
        };
        /** @description A spare of a pool. */
        NameSpare: {
            /** @description How it was given. */
            drive: string;
        };
        /** @description A token that was made. */
        NewToken: components["schemas"]["Token"] & {
            /** @description What its owner shows. It is not kept, and nobody can say it again. */
            secret: string;
        };
        /**
         * @description Why nothing is moved, though there is something to be.
         * @enum {string}
         */
        Obstacle: "no-room" | "unreadable";
        /** @description A drive that a pool might take. */
        PlanDrive: {
            /** @description The drive. */
            drive: string;
            /** @description Also if it holds something: that would be lost. */
            force?: boolean;
            /** @description The member that would go: its name, its number, or where it is. */
            replaces?: string | null;
        };
        /**
         * @description A pool. What is known of it while it is open is null as a whole while it is `opening` or
         *     `unavailable`.
         */
        Pool: {
            counters?: components["schemas"]["PoolCounters"] | null;
            /** @description Its members. */
            drives: components["schemas"]["PoolDrive"][];
            jobs?: components["schemas"]["PoolJobs"] | null;
            /** @description 0, 1, 1x3, 5, 6, 7.3 or N+M. */
            level?: string | null;
            /** @description Its name. */
            name: string;
            /** @description Things to know that are not errors. */
            notes: string[];
            /**
             * @description Drives that are no members and that the daemon has open still, as they are named: those that
             *     were removed, for a moment.
             */
            parting: string[];
            /** @description Why it is read-only, taken, uncertain or unavailable, or what its opening waits for. */
            problem?: string | null;
            settings?: components["schemas"]["PoolSettings"] | null;
            space?: components["schemas"]["PoolSpace"] | null;
            /** @description Drives that the pool takes for those that it loses, in their order. */
            spares: components["schemas"]["Spare"][];
            /**
             * @description How it is: `online`, `degraded` (something lacks redundancy that a lost drive held) with
             *     `rebuilding` (that is being restored) or `need-rebuild` (it is not:
             *     `jobs.rebuild.obstacle` or `problem` says why), `rebalancing`, `scrubbing`, `trimming`
             *     (the drives are told which space is free, by request), `evacuating` (what lives on a drive
             *     that is to be removed goes to others), `reduced` (all is safe, on fewer drives than it
             *     had), `read-only`, `taken` (by another machine that reaches its drives), `uncertain` (too
             *     few drives say now whose it is: reads and writes wait), `nearly-full` (what may live is
             *     used to `settings.warn_percent`), `throttled` (to `settings.throttle_percent`: hosts write
             *     slower), `short-for-loss` (if one more drive were lost, new data would be refused for lack
             *     of room: see `space.after_loss`), `full` (writes were refused for lack of room, and would
             *     be still), `out-of-room` (the file system under a file-backed drive is full: writes are
             *     refused), `opening` (its drives are looked for or read), `unavailable`, `volatile`.
             */
            states: string[];
            /** @description Its identity. */
            uuid: string;
        };
        /** @description What has happened in a pool since it was opened. */
        PoolCounters: {
            /**
             * Format: int64
             * @description Blocks moved by garbage collection.
             */
            blocks_moved: number;
            /**
             * Format: int64
             * @description Blocks that hosts have read.
             */
            blocks_read: number;
            /**
             * Format: int64
             * @description Those of them that are stored in another form since.
             */
            blocks_recompressed: number;
            /**
             * Format: int64
             * @description Blocks read from parity because a drive could not be read.
             */
            blocks_reconstructed: number;
            /**
             * Format: int64
             * @description Blocks that were reconstructed because a drive is slow.
             */
            blocks_spared: number;
            /**
             * Format: int64
             * @description Blocks that could not be read right.
             */
            blocks_unrecovered: number;
            /**
             * Format: int64
             * @description Blocks that hosts have written.
             */
            blocks_written: number;
            /**
             * Format: int64
             * @description Checkpoints.
             */
            checkpoints: number;
            /**
             * Format: int64
             * @description Columns of segments that went to other drives for a rebalance.
             */
            columns_moved: number;
            /**
             * Format: int64
             * @description Columns of segments that were on lost drives and are on others now.
             */
            columns_restored: number;
            /**
             * Format: int64
             * @description Dictionaries that were made for volumes, and kept.
             */
            dictionaries_made: number;
            /**
             * Format: int64
             * @description Bytes written to drives in all.
             */
            drive_written_bytes: number;
            /**
             * Format: int64
             * @description Pages of the map that were not in memory and had to be read from drives.
             */
            map_pages_read: number;
            /**
             * Format: int64
             * @description Those of them that a read has found, and no scrub.
             */
            sectors_healed: number;
            /**
             * Format: int64
             * @description Sectors that were wrong or unreadable and have been repaired.
             */
            sectors_repaired: number;
            /**
             * Format: int64
             * @description Segments reclaimed.
             */
            segments_collected: number;
            /** @description What the steps of its data path took. */
            steps: components["schemas"]["PoolSteps"];
            /**
             * Format: int64
             * @description Bytes that the written blocks took after compression.
             */
            stored_bytes: number;
            /**
             * Format: int64
             * @description Bytes of free space that drives were told of.
             */
            trimmed_bytes: number;
            /**
             * Format: int64
             * @description Times that a drive has refused that.
             */
            trims_refused: number;
            /**
             * Format: int64
             * @description Starts that found no clean end before them, since the pool was made.
             */
            unclean_starts: number;
            /**
             * Format: double
             * @description Bytes written to drives over bytes that hosts have written, since the pool was made. Null:
             *     they wrote nothing.
             */
            write_amplification?: number | null;
            /**
             * Format: int64
             * @description Blocks that a drive gave wrong, and that were read right all the same.
             */
            wrong_blocks_corrected: number;
        };
        /** @description A member of a pool. */
        PoolDrive: {
            /** @description That name, below `/dev/disk/by-id`. Null: it has none. */
            by_id?: string | null;
            /** @description What it says of its health. */
            health: components["schemas"]["DriveHealth"];
            /** @description What the kernel calls it now, as `nvme1n1`. Null: it is no block device, or not there. */
            kernel_name?: string | null;
            /** @description `file`, `block device`, `memory`. */
            kind?: string | null;
            /** @description The device's model. */
            model?: string | null;
            /** @description Its name within the pool. */
            name: string;
            /** @description Its pool. */
            pool: string;
            /**
             * @description Why it failed (kept until the pool is opened anew), under which name it returned, or what is
             *     in its place.
             */
            problem?: string | null;
            /**
             * Format: int64
             * @description Reads that it refused. Null: its pool is not open.
             */
            read_errors?: number | null;
            /**
             * @description Where it is back, and why the pool refuses it. Null: it is not there, or is not to come back
             *     by itself.
             */
            return_refused?: string | null;
            /** @description The device's serial number. */
            serial?: string | null;
            /**
             * Format: int64
             * @description Its size. Null: it is not there.
             */
            size_bytes?: number | null;
            /** @description The slot that it is in, or was last. Null: the kernel knows none whose light it can switch. */
            slot?: string | null;
            /** @description Where it is, or was last: by a name that outlives restarts, if udev gives it one. */
            spec?: string | null;
            /**
             * @description How it is: `online`, `failed`, `absent`, `returned` (it came back under the name in
             *     `problem`, and what it missed is being restored), `released` (lost, and all that lived on it
             *     is on others), `evacuating` (what lives on it goes to others, then it leaves the pool),
             *     `slow` (it answers much later than the others of its pool, and most reads are
             *     reconstructed from those), `stale` (it is there, and not believed, because the pool went on
             *     without it), `sparse` (a file without all its room on the file system), `unknown` (its pool
             *     is not open).
             */
            states: string[];
            /**
             * Format: int64
             * @description Room that the pool does not use, because the drive has become larger: `pool grow` takes it.
             *     Null: its pool is not open.
             */
            unused_bytes?: number | null;
            /** @description Its identity as a member. */
            uuid: string;
            /**
             * Format: int64
             * @description Reads that it answered with wrong bytes. Null: its pool is not open.
             */
            wrong_answers?: number | null;
        };
        /** @description What is done in the background of a pool. */
        PoolJobs: {
            /**
             * @description Of rebuild, evacuation and rebalance the one that goes on, or else the last one since the
             *     pool was opened: at most one of each.
             */
            moves: components["schemas"]["DataMove"][];
            rebalance?: components["schemas"]["Progress"] | null;
            rebuild?: components["schemas"]["Progress"] | null;
            scrub?: components["schemas"]["Scrub"] | null;
            trim?: components["schemas"]["Trim"] | null;
            verify?: components["schemas"]["Verify"] | null;
        };
        /** @description A pool that could be made. */
        PoolPlan: {
            /**
             * Format: int64
             * @description Bytes of a chunk.
             */
            chunk_bytes: number;
            /** @description Its drives, with what they hold: that would be lost. */
            drives: components["schemas"]["DriveInfo"][];
            /** @description Its level. */
            level: string;
            /**
             * Format: int64
             * @description What of the usable may be live.
             */
            limit_bytes: number;
            /** @description Its name. */
            name: string;
            /** @description What there is to say of it, as sentences. */
            notes: string[];
            /**
             * Format: int64
             * @description Its members' chunks, redundancy included.
             */
            raw_bytes: number;
            /**
             * Format: int64
             * @description What is left of that when redundancy is taken off.
             */
            usable_bytes: number;
        };
        /** @description What an operator has chosen for a pool. */
        PoolSettings: {
            /** @description Drives are told of space as it becomes free. */
            autotrim: boolean;
            /**
             * Format: int32
             * @description Refused reads and wrong answers of a drive within ten minutes for which it is given up,
             *     where redundancy allows; 0: never.
             */
            fault_threshold: number;
            /**
             * Format: int64
             * @description Seconds for which a drive may give no answer at all before it is given up, where redundancy
             *     allows; 0: for ever.
             */
            io_timeout_seconds: number;
            /** @description Volumes may be promised more than is formatted. */
            overcommit: boolean;
            /**
             * Format: int64
             * @description Instead of that, the time within which 99 of 100 answers to hosts are to come while there is
             *     one, in microseconds; 0: `recon_prio_percent` counts.
             */
            recon_p99_us: number;
            /**
             * Format: int32
             * @description Part of the time that rebuilds and rebalances may have, in percent.
             */
            recon_prio_percent: number;
            /**
             * Format: int64
             * @description Seconds from the end of one scrub to the next; 0: only on demand.
             */
            scrub_interval_seconds: number;
            /**
             * Format: int32
             * @description Part of the time that scrubs may have, in percent.
             */
            scrub_prio_percent: number;
            /**
             * Format: int32
             * @description The same when new data is refused.
             */
            stop_percent: number;
            /**
             * Format: int32
             * @description The same when hosts begin to write slower.
             */
            throttle_percent: number;
            /**
             * Format: int32
             * @description How far what may live is used, in percent, when the pool is `nearly-full`.
             */
            warn_percent: number;
        };
        /** @description The room of a pool. */
        PoolSpace: {
            after_loss?: components["schemas"]["AfterLoss"] | null;
            /**
             * Format: double
             * @description Logical over stored data. Null: nothing is stored.
             */
            compression_ratio?: number | null;
            /**
             * Format: int64
             * @description What volumes may be promised: see `overcommit`. Never less than `provisioned_bytes`.
             */
            formatted_bytes: number;
            /**
             * Format: double
             * @description That over `provisioned_bytes`.
             */
            formatted_ratio: number;
            /**
             * Format: int64
             * @description Room in segments that can be placed now.
             */
            free_bytes: number;
            /**
             * Format: int64
             * @description Chunks of the members that no segment has, redundancy included.
             */
            free_raw_bytes: number;
            /**
             * Format: int64
             * @description Seconds until it is full at the last hour's rate. Null: nobody can say, it does not grow, or
             *     that is months away.
             */
            full_in_seconds?: number | null;
            /**
             * Format: int64
             * @description Written, no longer live, not reclaimed yet.
             */
            garbage_bytes: number;
            /**
             * Format: int64
             * @description What of the usable may be live; the rest lets garbage collection work.
             */
            limit_bytes: number;
            /**
             * Format: int64
             * @description Blocks of its volumes that hold data.
             */
            logical_used_bytes: number;
            /**
             * Format: int64
             * @description Pages of the maps, and the records of what is stored.
             */
            map_bytes: number;
            /**
             * Format: int64
             * @description Memory of the map.
             */
            map_memory_bytes: number;
            /**
             * @description Some or all new data is refused for lack of space: from the first refusal until what was
             *     refused fits.
             */
            out_of_space: boolean;
            /**
             * Format: int64
             * @description Parity and copies of all segments.
             */
            parity_bytes: number;
            /**
             * Format: int64
             * @description Live data and maps after compression, before redundancy. May be too high for a while, never
             *     too low.
             */
            physical_used_bytes: number;
            /**
             * Format: int64
             * @description What volumes are promised: their sizes.
             */
            promised_bytes: number;
            /**
             * Format: int64
             * @description What holds data of hosts, after redundancy, over-provisioning and reserve.
             */
            provisioned_bytes: number;
            /**
             * Format: int64
             * @description The members' chunks, redundancy included.
             */
            raw_bytes: number;
            /**
             * Format: int64
             * @description What an operator may let hosts have beyond the limit when the pool is full; 0 once that is
             *     released.
             */
            reserve_bytes: number;
            /** @description The reserve has been released, and is a part of the limit until so much is free again. */
            reserve_released: boolean;
            /**
             * Format: int64
             * @description What hosts can write now if it compresses as what is stored. Null: nothing is stored.
             */
            safe_alike_bytes?: number | null;
            /**
             * Format: int64
             * @description What hosts can surely write now, whatever it is: noise is stored as it is.
             */
            safe_noise_bytes: number;
            /**
             * Format: int64
             * @description What is safe to be formatted, if data go on to compress as what is stored.
             */
            safe_to_format_bytes: number;
            /**
             * Format: int64
             * @description Compressed data that can surely be written now; 0 where nothing can be, as while it is
             *     `read-only` or `out-of-room`. While it is `full`, writes of less than that still fit.
             */
            safe_to_write_bytes: number;
            /**
             * Format: int64
             * @description What the written blocks take after compression.
             */
            stored_bytes: number;
            /**
             * Format: int64
             * @description What is left of that when redundancy is taken off.
             */
            usable_bytes: number;
            /**
             * Format: int64
             * @description What volumes are promised and hold no data: it was never written, was trimmed or is zeros.
             *     It takes no room.
             */
            zero_bytes: number;
        };
        /** @description What the steps of a pool's data path took since it was opened. */
        PoolSteps: {
            /**
             * @description Writes of hosts, from when they are compressed until their batch is on stable media. It is
             *     busy while a batch of hosts is on its way to the drives.
             */
            batch: components["schemas"]["StepCounts"];
            /**
             * @description Compressing what hosts write, by the command. Decompressing is not in it, nor what
             *     background jobs compress.
             */
            compress: components["schemas"]["StepCounts"];
            /**
             * @description Looking up where the blocks of a read are, which waits for pages of the map that are not in
             *     memory; and noting where a batch of hosts is. What background jobs do with the map is not in
             *     it.
             */
            map: components["schemas"]["StepCounts"];
            /**
             * @description Making parity, by the batch, whoever writes it; and making of the other columns what one has
             *     lost.
             */
            parity: components["schemas"]["StepCounts"];
        };
        /** @description An address to connect to. */
        Portal: {
            /** @description IP address. */
            address: string;
            /** @description `io` (volumes and discovery) or `discovery`. */
            kind: string;
            /**
             * Format: int32
             * @description TCP port.
             */
            port: number;
            /** @description `tcp`. */
            transport: string;
        };
        /** @description An error as it goes over the wire: a problem as of RFC 9457. */
        Problem: {
            /** @description For programs: a word that does not change. `/api/v1/errors` lists them all. */
            code: string;
            /** @description For people: what, and why. */
            detail: string;
            /** @description For people: the way out, if it is not in the detail. */
            hint?: string | null;
            /**
             * Format: int32
             * @description The status of the answer.
             */
            status: number;
            /** @description What the code means, in some words. */
            title: string;
            /** @description Where it says what the code means, relative to where the API is. */
            type: string;
        };
        /** @description How far a rebuild or a rebalance is. */
        Progress: {
            /**
             * Format: double
             * @description Part that is done, by this daemon and those before it.
             */
            done_percent: number;
            /**
             * Format: int64
             * @description Seconds until it is done, if it goes on as in the last half minute. Null: it has only begun,
             *     or was begun anew by a start.
             */
            eta_seconds?: number | null;
            /**
             * Format: int64
             * @description Bytes of columns that are to be restored, or to be elsewhere.
             */
            left_bytes: number;
            obstacle?: components["schemas"]["Obstacle"] | null;
        };
        /** @description Limits. Null: there is none. */
        QosLimits: {
            /**
             * Format: double
             * @description For how long a volume that was idle may save up what it did not take.
             */
            burst_seconds: number;
            /**
             * Format: int64
             * @description Bytes per second, read and written together.
             */
            bytes_per_second_max?: number | null;
            /**
             * Format: int64
             * @description Commands per second, reads and writes together.
             */
            iops_max?: number | null;
            /**
             * Format: int64
             * @description Commands per second for each GiB of the volume's size. Where there is `iops_max` too, the
             *     lower one counts.
             */
            iops_per_gib?: number | null;
            /**
             * Format: int64
             * @description Bytes read per second.
             */
            read_bytes_per_second_max?: number | null;
            /**
             * Format: int64
             * @description Reads per second.
             */
            read_iops_max?: number | null;
            /**
             * Format: int64
             * @description The same of reads.
             */
            read_iops_per_gib?: number | null;
            /**
             * Format: int64
             * @description Bytes written per second.
             */
            write_bytes_per_second_max?: number | null;
            /**
             * Format: int64
             * @description Writes per second.
             */
            write_iops_max?: number | null;
            /**
             * Format: int64
             * @description The same of writes.
             */
            write_iops_per_gib?: number | null;
        };
        /** @description A policy of a pool. */
        QosPolicy: {
            /** @description It counts for volumes of which nothing is said. */
            default: boolean;
            /** @description How much its volumes may take at most. */
            limits: components["schemas"]["QosLimits"];
            /** @description Its name. */
            name: string;
            /** @description Its pool. */
            pool: string;
            /** @description The volumes that it counts for. */
            volumes: string[];
            /**
             * Format: int32
             * @description The part of its volumes where volumes want more than the pool can do: twice the weight is
             *     twice the part.
             */
            weight: number;
        };
        /** @description Somebody who is told of events. */
        Receiver: {
            /** @description Where events go: a URL without what may be a secret of it, or addresses of mail. */
            address: string;
            /**
             * Format: date-time
             * @description When it has taken an event last, since the daemon was started: RFC 3339, UTC.
             */
            delivered_at?: string | null;
            /**
             * Format: int64
             * @description The number of the last event that needs not be sent any more.
             */
            delivered_seq: number;
            /**
             * Format: int64
             * @description Events that it has not taken and will not be sent any more, since the daemon was started: at
             *     least so many, as nobody knows how many there are in what cannot be read.
             */
            dropped_events: number;
            /**
             * Format: int64
             * @description Times that it has not taken what was sent to it, since the daemon was started.
             */
            failed_attempts: number;
            /** @description `webhook` or `mail`. */
            kind: string;
            /** @description Only events of these kinds are sent; empty: of all. */
            kinds: string[];
            /** @description Its name in the configuration; `mail` for mail. */
            name: string;
            /** @description Why the last attempt has failed, or what is wrong though it has not; null otherwise. */
            problem?: string | null;
            /**
             * Format: int64
             * @description Events that are still to be sent to it: at least so many, as only those count that are in
             *     the daemon's memory, the last 1024.
             */
            queued_events: number;
            /**
             * Format: int64
             * @description Events that it has taken since the daemon was started, tests left out.
             */
            sent_events: number;
            /** @description Events that are at least as bad are sent. */
            severity: components["schemas"]["Severity"];
            /** @description `ready`, or `failing` since the last attempt. */
            states: string[];
        };
        /** @description What has come of a test. */
        ReceiverTest: {
            /** @description What it has answered, for people. */
            answer: string;
            /** @description The receiver. */
            name: string;
        };
        /** @description A drive of a pool, to be removed once what lives on it is on others. */
        RemoveDrive: {
            /** @description Let it stay instead, if it is being removed. */
            cancel?: boolean;
            /** @description Its name, its number, or where it is. */
            drive: string;
        };
        /** @description The new name of a pool. */
        RenamePool: {
            /** @description It. */
            name: string;
        };
        /** @description A drive to be taken instead of another one. */
        ReplaceDrive: {
            /** @description The one that goes: its name, its number, or where it is. */
            drive: string;
            /** @description Take it although it holds something: that is lost. */
            force?: boolean;
            /** @description The one that comes. */
            with: string;
        };
        /** @description A drive that a pool has lost, to be taken back. */
        ReturnDrive: {
            /** @description Where it is now, if not where it was. */
            at?: string | null;
            /** @description Its name, its number, or where it is or was last. */
            drive: string;
        };
        /**
         * @description What a client may do. Each role may do what those before it may.
         * @enum {string}
         */
        Role: "viewer" | "operator" | "admin";
        /** @description A scrub: it reads all that is stored, and repairs it from parity. */
        Scrub: {
            /**
             * Format: int64
             * @description Bytes that were looked at, redundancy included.
             */
            checked_bytes: number;
            /**
             * Format: double
             * @description Part that is done.
             */
            done_percent: number;
            /** @description Drives on which there were any. */
            drives: components["schemas"]["ScrubbedDrive"][];
            /**
             * Format: int64
             * @description Seconds until it is done, if it goes on as it has since it began. Null as above.
             */
            eta_seconds?: number | null;
            /**
             * Format: date-time
             * @description RFC 3339, UTC; null while it runs.
             */
            finished_at?: string | null;
            /**
             * Format: int64
             * @description About as many are left, by the part that is done. Null unless it runs, and until something
             *     is done.
             */
            left_bytes?: number | null;
            /**
             * Format: int64
             * @description Of both, those that were repaired.
             */
            repaired: number;
            /**
             * Format: date-time
             * @description RFC 3339, UTC.
             */
            started_at: string;
            /** @description One of `running`, `finished` and `stopped`. */
            states: string[];
            /**
             * Format: int64
             * @description Sectors that a drive refused to read.
             */
            unreadable: number;
            /**
             * Format: int64
             * @description Those that could not be.
             */
            unrepaired: number;
            /**
             * Format: int64
             * @description Sectors of 4096 bytes that held something else than they should.
             */
            wrong: number;
        };
        /** @description What a scrub has found on a drive. */
        ScrubbedDrive: {
            /** @description Why the pool has given the drive up since; null: it has not. */
            given_up?: string | null;
            /** @description Its name within the pool. */
            name: string;
            /**
             * Format: int64
             * @description See [`Scrub::repaired`].
             */
            repaired: number;
            /** @description Where it is, or was last. */
            spec?: string | null;
            /**
             * Format: int64
             * @description See [`Scrub::unreadable`].
             */
            unreadable: number;
            /**
             * Format: int64
             * @description See [`Scrub::unrepaired`].
             */
            unrepaired: number;
            /**
             * Format: int64
             * @description See [`Scrub::wrong`].
             */
            wrong: number;
        };
        /** @description Who asks, what they may do, and where the API is served. */
        Session: {
            /** @description Where the API is served beside the daemon's socket: IP addresses with their ports. */
            addresses: string[];
            /** @description Who asks, for people. */
            caller: string;
            /**
             * @description The SHA-256 of the certificate that clients meet there, by which they know the daemon. Null:
             *     it is not served there.
             */
            certificate_fingerprint?: string | null;
            /** @description What they may do. */
            role: components["schemas"]["Role"];
        };
        /** @description The formatted capacity of a pool: either of the two. */
        SetCapacity: {
            /** @description So many times what the pool is provisioned with, as `2.4x`. */
            factor?: string | null;
            /** @description Also more than fits if data go on to compress as what is stored. */
            force?: boolean;
            /**
             * Format: int64
             * @description So many bytes.
             */
            formatted_bytes?: number | null;
        };
        /**
         * @description Limits to be set. Null, as a policy shows it, or 0 is no limit; what is left out stays, or is
         *     none of a new policy.
         */
        SetLimits: {
            /**
             * Format: double
             * @description From 0.01 to 3600, in steps of a millisecond; 0.1 of a new policy.
             */
            burst_seconds?: number | null;
            /**
             * Format: int64
             * @description Bytes per second, read and written together: at least 1048576.
             */
            bytes_per_second_max?: number | null;
            /**
             * Format: int64
             * @description Commands per second, reads and writes together: at least 10.
             */
            iops_max?: number | null;
            /**
             * Format: int64
             * @description Commands per second for each GiB of the volume's size; of a small volume at least 10.
             */
            iops_per_gib?: number | null;
            /**
             * Format: int64
             * @description Bytes read per second: at least 1048576.
             */
            read_bytes_per_second_max?: number | null;
            /**
             * Format: int64
             * @description Reads per second: at least 10.
             */
            read_iops_max?: number | null;
            /**
             * Format: int64
             * @description The same of reads.
             */
            read_iops_per_gib?: number | null;
            /**
             * Format: int64
             * @description Bytes written per second: at least 1048576.
             */
            write_bytes_per_second_max?: number | null;
            /**
             * Format: int64
             * @description Writes per second: at least 10.
             */
            write_iops_max?: number | null;
            /**
             * Format: int64
             * @description The same of writes.
             */
            write_iops_per_gib?: number | null;
        };
        /**
         * @description How bad an event is.
         * @enum {string}
         */
        Severity: "info" | "warning" | "error";
        /** @description Operations of one kind, of any size or of some. */
        SizedLatency: {
            /**
             * Format: int64
             * @description Larger than this.
             */
            above_bytes: number;
            /** @description What was counted. */
            counts: components["schemas"]["IoCounts"];
            /** @description What people want to know of it. */
            figures: components["schemas"]["LatencyFigures"];
            /**
             * Format: int64
             * @description No larger than this. Null: there is no bound.
             */
            up_to_bytes?: number | null;
        };
        /** @description A drive that waits until its pool loses one. */
        Spare: {
            /** @description Why it could not be taken when it was wanted. It is tried again. */
            problem?: string | null;
            /** @description How it was given. */
            spec: string;
        };
        /** @description Everything at a glance. */
        Status: {
            /** @description What is not well now, the worst first. Empty: all is well. */
            alerts: components["schemas"]["Alert"][];
            /**
             * Format: int64
             * @description Controllers that hosts have made since the daemon started.
             */
            host_connects: number;
            /**
             * Format: int64
             * @description Controllers of hosts that have ended since then.
             */
            host_disconnects: number;
            /** @description Controllers that hosts have now. */
            hosts_connected: number;
            /**
             * Format: int32
             * @description The daemon's process.
             */
            pid: number;
            /** @description All pools, those that could not be opened included. */
            pools: components["schemas"]["Pool"][];
            /** @description Where it listens. */
            portals: components["schemas"]["Portal"][];
            /** @description Reactors that serve. */
            reactors: number;
            /** @description The subsystem's serial number. */
            serial: string;
            /** @description The NQN that hosts connect to. */
            subsystem_nqn: string;
            /**
             * Format: int64
             * @description Seconds since it started.
             */
            uptime_seconds: number;
            /** @description Of Ashlar. */
            version: string;
            /** @description All volumes. */
            volumes: components["schemas"]["Volume"][];
            /**
             * @description What the daemon cannot remember over its next start: each with the reason, what that means,
             *     and the way out.
             */
            warnings: string[];
        };
        /** @description What one step took. Of two answers the differences are what came between. */
        StepCounts: {
            /**
             * Format: double
             * @description For how long it was busy: over the time that has gone by it is the part of the time. Of
             *     compress, parity and map that is time of the pool's reactor, which they share.
             */
            busy_seconds: number;
            /**
             * Format: double
             * @description From begin to end, all together: over `operations` it is the mean.
             */
            latency_seconds: number;
            /**
             * Format: int64
             * @description How often it was done.
             */
            operations: number;
        };
        /** @description Threads of one name. */
        ThreadFigures: {
            /**
             * Format: double
             * @description Processor time that they have taken, all together, since the daemon started.
             */
            cpu_seconds: number;
            /** @description Their name. */
            name: string;
        };
        /** @description A token, as far as anybody can see it. */
        Token: {
            /**
             * Format: date-time
             * @description When it was made: RFC 3339, UTC.
             */
            created_at: string;
            /**
             * Format: date-time
             * @description When it expires: RFC 3339, UTC. Null: never.
             */
            expires_at?: string | null;
            /** @description Its identifier, which is a part of it. */
            id: string;
            /** @description Its name. */
            name: string;
            /** @description What whoever shows it may do. */
            role: components["schemas"]["Role"];
            /** @description `valid` or `expired`. */
            states: string[];
        };
        /** @description A trim: drives are told of all space that is free. */
        Trim: {
            /**
             * Format: double
             * @description Part that is done.
             */
            done_percent: number;
            /**
             * Format: int64
             * @description Seconds until it is done, if it goes on as it has since it began. Null unless it goes on,
             *     and until something is done.
             */
            eta_seconds?: number | null;
            /**
             * Format: date-time
             * @description RFC 3339, UTC; null while it goes on.
             */
            finished_at?: string | null;
            /**
             * Format: int64
             * @description Bytes that were free when it began, on drives that can be told.
             */
            free_bytes: number;
            /**
             * Format: int64
             * @description Of these, what is left to be told of.
             */
            left_bytes: number;
            /**
             * Format: int64
             * @description Times that a drive has refused since it began.
             */
            refusals: number;
            /** @description Names, within the pool, of drives that cannot be told, or were lost meanwhile. */
            skipped_drives: string[];
            /**
             * Format: date-time
             * @description RFC 3339, UTC.
             */
            started_at: string;
            /** @description One of `running`, `finished` and `stopped`. */
            states: string[];
        };
        /** @description A figure of a pool, as the ledger and the walk have it at the same moment. */
        VerifiedFigure: {
            /**
             * Format: int64
             * @description What is counted.
             */
            counted_bytes: number;
            /**
             * Format: int64
             * @description What is there.
             */
            found_bytes: number;
            /** @description `written`, `stored`, `map`, `live`, `garbage`, `parity` or `free`. */
            name: string;
        };
        /**
         * @description A proof of a pool's ledger: Ashlar walks over all that the maps name, counts it anew, and
         *     compares, while hosts go on.
         */
        Verify: {
            /** @description What differs, in words: the first hundred. Empty: nothing does. */
            differences: string[];
            /**
             * Format: double
             * @description Part that is done.
             */
            done_percent: number;
            /**
             * Format: int64
             * @description Seconds until it is done, if it goes on as it has since it began. Null unless it goes on,
             *     and until something is done.
             */
            eta_seconds?: number | null;
            /** @description What was compared. Empty until it is finished. */
            figures: components["schemas"]["VerifiedFigure"][];
            /**
             * Format: date-time
             * @description RFC 3339, UTC; null while it goes on.
             */
            finished_at?: string | null;
            /**
             * Format: int64
             * @description Written blocks that are counted and were overwritten since: the maps' next merges take them
             *     off. The pool has less room for them until then, never more.
             */
            overwritten_bytes: number;
            /** @description Why it could not be done. Null: it could, or goes on. */
            problem?: string | null;
            /**
             * Format: date-time
             * @description RFC 3339, UTC.
             */
            started_at: string;
            /**
             * @description One of `running`, `proven` (each figure is what is there), `wrong`, `stopped` (nothing was
             *     compared) and `failed` (it could not be done: see `problem`).
             */
            states: string[];
            /**
             * Format: int64
             * @description Volumes that store something, of each of which what is written and what is stored were
             *     compared.
             */
            volumes_compared: number;
        };
        /** @description The daemon's version. */
        Version: {
            /** @description Of this API. */
            api: string;
            /** @description Of Ashlar. */
            version: string;
        };
        /** @description A volume and its figures. */
        Volume: {
            /** @description Who may see it. */
            access: components["schemas"]["Access"];
            /**
             * Format: int64
             * @description The largest write that hosts are told is atomic; 0: they are told of none.
             */
            atomic_write_bytes: number;
            /** @description How blocks are stored from now on: `none`, `lz4`, `zstd:1` to `zstd:19`, or `auto`. */
            compression: string;
            /**
             * Format: double
             * @description The one over the other. Null: nothing is stored.
             */
            compression_ratio?: number | null;
            /**
             * Format: date-time
             * @description When it was made: RFC 3339, UTC.
             */
            created_at: string;
            /**
             * Format: int32
             * @description The sectors that hosts see.
             */
            lba_bytes: number;
            /**
             * Format: int64
             * @description Blocks that hold data.
             */
            logical_used_bytes: number;
            /** @description Its name. */
            name: string;
            /**
             * Format: int32
             * @description Its namespace number.
             */
            nsid: number;
            /**
             * Format: int64
             * @description What they take after compression, before redundancy.
             */
            physical_used_bytes: number;
            /** @description Its pool. */
            pool: string;
            /** @description What it may take of its pool. */
            qos: components["schemas"]["VolumeQos"];
            /**
             * Format: int64
             * @description The size that hosts see.
             */
            size_bytes: number;
            /** @description Its identity, which hosts see. */
            uuid: string;
            /** @description Hosts may not write. */
            write_protected: boolean;
            /**
             * Format: int64
             * @description The rest of its size: it was never written, was trimmed or is zeros, and takes no room.
             */
            zero_bytes: number;
        };
        /**
         * @description What counts for a volume, and what its limits have held up since the daemon started or the pool
         *     was opened.
         */
        VolumeQos: {
            /**
             * Format: int64
             * @description Commands that have waited for its limits.
             */
            delayed_operations: number;
            /**
             * Format: double
             * @description How long they have waited, all together.
             */
            delayed_seconds: number;
            /** @description How much it may take at most. */
            limits: components["schemas"]["QosLimits"];
            /** @description The name of its policy. Null: it has one of its own, or none. */
            policy?: string | null;
            /**
             * @description Where it has that from: `named` or `unlimited`, as somebody said of the volume; `own`, a
             *     policy of its own; `pool`, the default of its pool; or `none`: nobody has said anything.
             */
            source: string;
            /** @description Commands wait for its limits now. */
            throttled: boolean;
            /**
             * Format: int64
             * @description How many.
             */
            waiting_operations: number;
            /**
             * Format: int32
             * @description Its part where volumes want more than the pool can do.
             */
            weight: number;
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export type operations = Record<string, never>;
