import { createProcesses } from '../adapters/child-process/processes.ts';
import { createRepositories } from '../adapters/git/repositories.ts';
import type { Config } from '../config/config.ts';
import { councilPathOf } from '../config/council.ts';
import { roleDirectoriesOf, squadSettingsOf } from '../config/squads.ts';
import { Asks } from '../core/asks/answers/asks.ts';
import { Journal } from '../core/audit/journal/journal.ts';
import { Rotation } from '../core/audit/journal/rotation.ts';
import { createRedactor } from '../core/audit/redaction/redact.ts';
import { AgentPages } from '../core/audit/views/agent-page.ts';
import { AuditViews } from '../core/audit/views/audit-views.ts';
import { ChangeTracker } from '../core/changes/change-tracker.ts';
import { Council } from '../core/council/council.ts';
import { CouncilStore, ownerLiveness } from '../core/council/council-store.ts';
import { Summons } from '../core/council/summons.ts';
import type { ApiKeys } from '../core/engines/api/api-keys.ts';
import type { EngineRegistry } from '../core/engines/engine-registry.ts';
import {
  programAt,
  readerOf
} from '../core/engines/template/template-engine.ts';
import { WorkerStore } from '../core/orchestrator/queue/worker-store.ts';
import { pathsOf } from '../core/paths/paths.ts';
import {
  identityOf,
  type RecordIdentity,
  restoreIdentity
} from '../core/paths/records.ts';
import { Admission } from '../core/runs/admission/admission.ts';
import { CallerContext } from '../core/runs/admission/caller-context.ts';
import { SpawnTimes } from '../core/runs/admission/spawn-times.ts';
import { reportedEdits } from '../core/runs/end/reply-reader.ts';
import { RunJournal } from '../core/runs/end/run-journal.ts';
import { RunTracker } from '../core/runs/end/run-tracker.ts';
import { Vanished } from '../core/runs/end/vanished.ts';
import { EndCommand } from '../core/runs/notify/end-command.ts';
import type { RunRecord } from '../core/runs/run.ts';
import { RunEvents } from '../core/runs/run-events.ts';
import { RunStore } from '../core/runs/run-store.ts';
import { Spawner } from '../core/runs/start/spawner.ts';
import { RunStarter } from '../core/runs/start/starter.ts';
import {
  describeFault,
  RoleRepository
} from '../core/squads/role-repository.ts';
import { SquadStore } from '../core/squads/squad-store.ts';
import { Squads } from '../core/squads/squads.ts';
import { removeLeftovers } from '../core/state/files/atomic-file.ts';
import { StateIntegrity } from '../core/state/integrity/state-guard.ts';
import { log, logProblem } from './log.ts';
import { distDirectory } from './package.ts';
import { askPartsOf, configuredSecrets } from './wiring-engines.ts';
import { wireOrchestrator, workersAtWork } from './wiring-orchestrator.ts';

/** Creates and connects all parts for one workspace; starts nothing. */
export function wire(config: Config, registry: EngineRegistry, keys: ApiKeys) {
  const paths = pathsOf(config.workspace, config.home);
  const secrets = configuredSecrets(config, registry);
  const redact = createRedactor(() => [...secrets(), ...keys.secrets()]);
  let known: RecordIdentity | undefined;
  const store = new RunStore(paths.record, paths.views.agents, () => {
    // A record that was removed and created again keeps its identity, because
    // views refer to it.
    if (known) restoreIdentity(paths, known);
  });
  const identity = () => {
    known ??= identityOf(paths);
    return known;
  };
  const engineOf = (record: RunRecord) => readerOf(record, registry);
  const pages = new AgentPages({ store, identity, redact, engineOf });
  const processes = createProcesses(distDirectory());
  const journal = new Journal(paths.journal, paths.heads, redact);
  const runJournal = new RunJournal(store, journal);
  const events = new RunEvents(logProblem);
  const { workspace } = config;
  const repositories = createRepositories();
  const workerStore = new WorkerStore(paths, processes);
  const changeTracker = new ChangeTracker({
    repositories,
    store,
    processes,
    workspace,
    editsOf: (record) =>
      reportedEdits(
        record,
        store.directoryOf(record.agent_id),
        engineOf(record)
      ),
    workers: () => workersAtWork(workerStore, registry)
  });
  const origin = new CallerContext({ store, processes });
  const asks = new Asks({
    store,
    processes,
    journal,
    authority: {
      store,
      origin,
      get maxAccess() {
        return config.maxAccess;
      }
    }
  });
  events.onRunSpawned((record) => asks.attend(record));
  const shared = {
    workspace,
    registry,
    keys,
    store,
    processes,
    journal: runJournal,
    events,
    onProblem: logProblem,
    // Getters, because the configuration of a server may change.
    settings: {
      workspace,
      get configFile() {
        return config.file ?? null;
      },
      get pinnedCode() {
        return config.trust.pinnedCode;
      },
      get prices() {
        return config.prices;
      },
      get maxAccess() {
        return config.maxAccess;
      },
      get outputLimitBytes() {
        return config.outputLimitMegabytes * 1024 * 1024;
      },
      get onDisconnect() {
        return config.onDisconnect;
      }
    }
  };
  const starter = new RunStarter({
    ...shared,
    asks: askPartsOf(config),
    changeTracker,
    capOf: (engine) => registry.settingsOf(engine).maxConcurrent,
    get maxConcurrent() {
      return config.maxConcurrent;
    },
    get maxConcurrentApi() {
      return config.maxConcurrentApi;
    }
  });
  const tracker = new RunTracker({
    ...shared,
    asks,
    changeTracker,
    pages,
    engineOf,
    variablesOf: (engine) => ({
      ...process.env,
      ...registry.settingsOf(engine).env
    }),
    starter
  });
  const vanished = new Vanished({ ...shared, starter, onLost: log });
  const admission = new Admission({
    origin,
    get maxDepth() {
      return config.maxDepth;
    },
    get diskLimitMegabytes() {
      return config.diskLimitMegabytes;
    },
    store,
    slots: starter.slots,
    times: new SpawnTimes({
      root: paths.record,
      place: processes.self.place,
      get most() {
        return config.maxSpawnsPerMinute;
      }
    })
  });
  const spawner = new Spawner({
    ...shared,
    tracker,
    starter,
    origin,
    admission,
    repositories
  });
  const rotation = new Rotation({
    journal: journal.path,
    maximumBytes: config.journal.megabytes * 1024 * 1024,
    lock: paths.rotationLock,
    witnesses: processes,
    onProblem: logProblem
  });
  const views = new AuditViews({
    journal,
    rotation,
    paths,
    identity,
    pages,
    maximumEntries: config.iac.entries,
    maximumBytes: config.iac.megabytes * 1024 * 1024,
    redact,
    active: async () =>
      (await tracker.active()).map(({ record, status }) => ({
        ...record,
        queued: status === 'queued',
        asking: asks.isAsking(record)
      })),
    onProblem: logProblem
  });
  const [program, ...args] = config.onEnd.command ?? [];
  const endCommand =
    program === undefined
      ? undefined
      : new EndCommand({
          store,
          processes,
          workspace,
          command: [programAt(program, workspace), ...args],
          minSeconds: config.onEnd.minSeconds,
          redact,
          onProblem: logProblem
        });
  subscribe(events, tracker, starter, views, endCommand);
  const roles = new RoleRepository(
    roleDirectoriesOf(workspace, config.rolesDirectory),
    (fault) => log(describeFault(fault)),
    (path, text) => config.trust.trustsRole(path, text)
  );
  const squads = new Squads({
    roles,
    registry,
    store,
    workspace,
    get maxAccess() {
      return config.maxAccess;
    },
    get settings() {
      return {
        ...squadSettingsOf(config.squad, workspace),
        pinnedTemplates: config.trust.pinnedTemplates
      };
    },
    unknownRoleHint: 'Call list_roles for the ids.',
    squads: new SquadStore(paths.record),
    admission,
    spawn: (request) => spawner.spawn(request)
  });
  const councils = new Map<string, CouncilStore>();
  const storeAt = (path: string) => {
    const known = councils.get(path) ?? new CouncilStore(path, processes);
    councils.set(path, known);
    return known;
  };
  const councilStore = storeAt(councilPathOf(config.council, workspace));
  const summons = new Summons({
    council: councilStore,
    storeAt,
    witnesses: processes,
    workspace,
    runs: store,
    tracker,
    spawn: (request) => spawner.spawn(request),
    onProblem: logProblem
  });
  const orchestrator = wireOrchestrator(config, {
    store: workerStore,
    registry,
    processes,
    roles,
    admission,
    origin,
    newId: () => store.newId(null),
    enter: (directory) => changeTracker.enter(directory)
  });
  const tidied = [store.drafts, ...Object.values(paths.views)];
  return {
    asks,
    safety: new StateIntegrity(paths, councilStore.file.path, logProblem),
    store,
    origin,
    orchestrator,
    council: new Council({ store: councilStore, witnesses: processes }),
    /** The council for one client session of this process. */
    councilOf: (session: string, isConnected: (session: string) => boolean) =>
      new Council({
        store: councilStore,
        witnesses: ownerLiveness(processes, session, isConnected)
      }),
    councilStore,
    summons,
    release: () => {
      rotation.close();
      for (const known of councils.values()) known.close();
    },
    /** Removes files that killed servers left half-written. */
    tidy: () => {
      try {
        for (const directory of tidied) removeLeftovers(directory);
      } catch (problem) {
        logProblem(problem);
      }
    },
    squads,
    processes,
    journal,
    runJournal,
    events,
    tracker,
    starter,
    vanished,
    spawner,
    views,
    endCommand,
    changeTracker,
    paths,
    identity
  };
}

export type Parts = ReturnType<typeof wire>;

/**
 * Subscribes the parts to the events of runs, in the order of notification.
 * Calls of `wait` and the server's summons subscribe later and are notified
 * last. The journal does not subscribe: it records a spawn or an end before the
 * event is published.
 */
function subscribe(
  events: RunEvents,
  tracker: RunTracker,
  starter: RunStarter,
  views: AuditViews,
  endCommand: EndCommand | undefined
): void {
  events.onRunSpawned(() => views.touch());
  events.onRunStarted(() => views.touch());
  events.onRunExited(({ agent_id: id }) => {
    tracker.look(id).catch(logProblem);
  });
  events.onRunDelayed(() => starter.pump());
  events.onRunDelayed(() => views.touch());
  events.onRunChanged(() => starter.pump());
  events.onRunChanged(() => views.touch());
  events.onRunEnded(() => starter.pump());
  events.onRunEnded(() => views.touch());
  events.onRunEnded(({ record, outcome }) => endCommand?.run(record, outcome));
}
