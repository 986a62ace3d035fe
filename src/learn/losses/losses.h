#pragma once

#include <memory>

#include "diml/learn/loss.h"

namespace diml::learn {

// numbers: all of the table's; miner: null where the table has none.
std::unique_ptr<Loss> make_angular(const Numbers& numbers, std::unique_ptr<Miner> miner,
                                   const LossContext& context);
std::unique_ptr<Loss> make_arcface(const Numbers& numbers, std::unique_ptr<Miner> miner,
                                   const LossContext& context);
std::unique_ptr<Loss> make_circle(const Numbers& numbers, std::unique_ptr<Miner> miner,
                                  const LossContext& context);
std::unique_ptr<Loss> make_contrastive(const Numbers& numbers, std::unique_ptr<Miner> miner,
                                       const LossContext& context);
std::unique_ptr<Loss> make_cosface(const Numbers& numbers, std::unique_ptr<Miner> miner,
                                   const LossContext& context);
std::unique_ptr<Loss> make_genlifted(const Numbers& numbers, std::unique_ptr<Miner> miner,
                                     const LossContext& context);
std::unique_ptr<Loss> make_histogram(const Numbers& numbers, std::unique_ptr<Miner> miner,
                                     const LossContext& context);
std::unique_ptr<Loss> make_margin(const Numbers& numbers, std::unique_ptr<Miner> miner,
                                  const LossContext& context);
std::unique_ptr<Loss> make_ms(const Numbers& numbers, std::unique_ptr<Miner> miner,
                              const LossContext& context);
std::unique_ptr<Loss> make_npair(const Numbers& numbers, std::unique_ptr<Miner> miner,
                                 const LossContext& context);
std::unique_ptr<Loss> make_proxyanchor(const Numbers& numbers, std::unique_ptr<Miner> miner,
                                       const LossContext& context);
std::unique_ptr<Loss> make_proxynca(const Numbers& numbers, std::unique_ptr<Miner> miner,
                                    const LossContext& context);
std::unique_ptr<Loss> make_quadruplet(const Numbers& numbers, std::unique_ptr<Miner> miner,
                                      const LossContext& context);
std::unique_ptr<Loss> make_snr(const Numbers& numbers, std::unique_ptr<Miner> miner,
                               const LossContext& context);
std::unique_ptr<Loss> make_softmax(const Numbers& numbers, std::unique_ptr<Miner> miner,
                                   const LossContext& context);
std::unique_ptr<Loss> make_softtriple(const Numbers& numbers, std::unique_ptr<Miner> miner,
                                      const LossContext& context);
std::unique_ptr<Loss> make_supcon(const Numbers& numbers, std::unique_ptr<Miner> miner,
                                  const LossContext& context);
std::unique_ptr<Loss> make_triplet(const Numbers& numbers, std::unique_ptr<Miner> miner,
                                   const LossContext& context);

}  // namespace diml::learn
