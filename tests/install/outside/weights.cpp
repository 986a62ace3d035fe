#include <cstdio>

#include <diml/weights.h>

int main(int count, char** arguments) {
  for (int k = 1; k < count; ++k) {
    std::printf("%zu tensors\n", diml::read_weights(arguments[k]).tensors.size());
  }
}
