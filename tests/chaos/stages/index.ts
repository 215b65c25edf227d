import type { Stage, StoreName } from '../stage.js';
import { redisStage } from './redis.js';

const stages: Partial<Readonly<Record<StoreName, () => Promise<Stage>>>> = {
  redis: redisStage,
};

export async function openStage(store: StoreName): Promise<Stage> {
  const open = stages[store];
  if (open === undefined) throw new Error(`there is no stage for ${store}`);
  return await open();
}
