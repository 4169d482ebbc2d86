import { createProcesses } from './adapters/child-process/processes.ts';
import { createRepositories } from './adapters/git/repositories.ts';
import type { Config } from './config.ts';
import { AgentPages } from './core/audit/agent-page.ts';
import { AuditViews } from './core/audit/audit-views.ts';
import { Journal } from './core/audit/journal.ts';
import {
  createRedactor,
  passedSecrets,
  secretsIn
} from './core/audit/redact.ts';
import { Rotation } from './core/audit/rotation.ts';
import { Witness } from './core/changes/witness.ts';
import { Council } from './core/council/council.ts';
import { CouncilStore } from './core/council/council-store.ts';
import { ownerWitnesses } from './core/council/owner.ts';
import { Summons } from './core/council/summons.ts';
import type { ApiKeys } from './core/engines/api-keys.ts';
import type { EngineRegistry } from './core/engines/engine-registry.ts';
import { readerOf } from './core/engines/template-engine.ts';
import { identityOf, type RecordIdentity } from './core/paths/identity.ts';
import { pathsOf } from './core/paths/paths.ts';
import { Admission } from './core/runs/admission.ts';
import { Origin } from './core/runs/origin.ts';
import { RunStore } from './core/runs/run-store.ts';
import { RunTracker } from './core/runs/run-tracker.ts';
import { SpawnTimes } from './core/runs/spawn-times.ts';
import { Spawner } from './core/runs/spawner.ts';
import { RunStarter } from './core/runs/starter.ts';
import {
  describeFault,
  RoleRepository
} from './core/squads/role-repository.ts';
import { SquadStore } from './core/squads/squad-store.ts';
import { Squads } from './core/squads/squads.ts';
import { removeLeftovers } from './core/state/atomic-file.ts';
import { Safety } from './core/state/safety.ts';
import { councilPathOf } from './council-config.ts';
import { distDirectory } from './dist-directory.ts';
import { log, logProblem } from './log.ts';
import { roleDirectoriesOf, squadSettingsOf } from './squad-config.ts';
import { wireOrchestrator } from './wiring-orchestrator.ts';

/** Everything that works on one workspace, connected. Nothing is started. */
export function wire(config: Config, registry: EngineRegistry, keys: ApiKeys) {
  const paths = pathsOf(config.workspace, config.home);
  const secrets = [
    ...secretsIn(process.env),
    ...Object.values(config.engines).flatMap(({ env = {}, passEnv = [] }) => [
      ...secretsIn(env),
      ...passedSecrets(passEnv, process.env)
    ])
  ];
  const redact = createRedactor(() => [...secrets, ...keys.secrets()]);
  const store = new RunStore(paths.record, paths.views.agents);
  let known: RecordIdentity | undefined;
  const identity = () => {
    known ??= identityOf(paths);
    return known;
  };
  const pages = new AgentPages({ store, identity, redact });
  const processes = createProcesses(distDirectory());
  const journal = new Journal(paths.journal, paths.heads, redact);
  const { workspace } = config;
  const repositories = createRepositories();
  const witness = new Witness({ repositories, store, processes, workspace });
  const tracker = new RunTracker({
    store,
    journal,
    processes,
    witness,
    pages,
    engineOf: (record) => readerOf(record, registry),
    isOurs: (id) => starter.hasStarted(id),
    onChange: () => {
      starter.pump();
      views.touch();
    },
    onProblem: logProblem
  });
  const pluginSource = {
    configFile: config.file ?? null,
    pinnedCode: config.trust.pinnedCode
  };
  const starter = new RunStarter({
    registry,
    keys,
    store,
    processes,
    witness,
    workspace,
    settings: { ...pluginSource, prices: config.prices },
    capOf: (engine) => registry.settingsOf(engine).maxConcurrent,
    maxConcurrent: config.maxConcurrent,
    maxConcurrentApi: config.maxConcurrentApi,
    onProblem: logProblem,
    onEnded: (id) => {
      tracker.look(id).catch(logProblem);
      starter.pump();
    }
  });
  const origin = new Origin({ store, processes });
  const admission = new Admission({
    origin,
    maxDepth: config.maxDepth,
    diskLimitMegabytes: config.diskLimitMegabytes,
    store,
    places: starter.places,
    times: new SpawnTimes({
      root: paths.record,
      place: processes.self.place,
      most: config.maxSpawnsPerMinute
    })
  });
  const spawner = new Spawner({
    registry,
    keys,
    store,
    journal,
    processes,
    tracker,
    starter,
    origin,
    admission,
    repositories,
    settings: {
      workspace,
      ...pluginSource,
      prices: config.prices,
      maxAccess: config.maxAccess,
      outputLimitBytes: config.outputLimitMegabytes * 1024 * 1024,
      onDisconnect: config.onDisconnect
    }
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
        queued: status === 'queued'
      })),
    onProblem: logProblem
  });
  const roles = new RoleRepository(
    roleDirectoriesOf(workspace, config.rolesDirectory),
    (fault) => log(describeFault(fault)),
    config.trust.trustsRole
  );
  const squads = new Squads({
    roles,
    registry,
    store,
    workspace,
    settings: {
      ...squadSettingsOf(config.squad, workspace),
      pinnedTemplates: config.trust.pinnedTemplates
    },
    squads: new SquadStore(paths.record),
    admission,
    spawn: async (request) => {
      const spawned = await spawner.spawn(request);
      views.touch();
      return spawned;
    }
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
    spawn: async (request) => {
      const spawned = await spawner.spawn(request);
      views.touch();
      return spawned;
    },
    onProblem: logProblem
  });
  const orchestrator = wireOrchestrator(config, {
    paths,
    registry,
    processes,
    roles,
    admission,
    origin,
    newId: () => store.newId(null)
  });
  const tidied = [store.drafts, ...Object.values(paths.views)];
  return {
    safety: new Safety(paths, councilStore.file.path, logProblem),
    store,
    origin,
    orchestrator,
    council: new Council({ store: councilStore, witnesses: processes }),
    /** The council as one of several clients of this process has it. */
    councilOf: (session: string, isThere: (session: string) => boolean) =>
      new Council({
        store: councilStore,
        witnesses: ownerWitnesses(processes, session, isThere)
      }),
    councilStore,
    summons,
    letGo: () => {
      store.spare.close();
      rotation.close();
      for (const known of councils.values()) known.close();
    },
    /** Takes away what killed servers left half-written. */
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
    tracker,
    starter,
    spawner,
    views,
    witness,
    paths,
    identity
  };
}
