import { afterAll } from 'vitest';
import { type GoldenStage, goldenStage, type Scene } from './golden-stage.ts';

/** Stages of a test file, each ended with it. */
export function goldenStages() {
  const all: Promise<GoldenStage>[] = [];
  const fresh = (scene?: Scene) => {
    const stage = goldenStage(scene);
    all.push(stage);
    return stage;
  };
  afterAll(async () => {
    for (const stage of await Promise.all(all)) await stage.stop();
  });
  return {
    /** For a command that changes something: one of its own each time. */
    fresh,
    /** Made when it is first asked for, and the same from then on. */
    shared: (scene?: Scene) => {
      let stage: Promise<GoldenStage> | undefined;
      return () => {
        stage ??= fresh(scene);
        return stage;
      };
    }
  };
}
