"""ResNet-50 in plain torch with random weights, for the peers: stride in the 3x3, up to the last map, no classifier."""
import torch
from torch import nn


def unit(inputs, outputs, size, stride=1):
    return nn.Sequential(nn.Conv2d(inputs, outputs, size, stride, padding=size // 2, bias=False), nn.BatchNorm2d(outputs))


class Bottleneck(nn.Module):
    def __init__(self, inputs, width, stride):
        super().__init__()
        self.branch = nn.Sequential(unit(inputs, width, 1), nn.ReLU(), unit(width, width, 3, stride), nn.ReLU(),
                                    unit(width, 4 * width, 1))
        self.shortcut = nn.Identity() if inputs == 4 * width else unit(inputs, 4 * width, 1, stride)

    def forward(self, values):
        return torch.relu(self.branch(values) + self.shortcut(values))


def resnet50():
    torch.manual_seed(0)
    layers = [unit(3, 64, 7, 2), nn.ReLU(), nn.MaxPool2d(3, 2, padding=1)]
    channels = 64
    for stage, (depth, width) in enumerate(zip((3, 4, 6, 3), (64, 128, 256, 512))):
        for block in range(depth):
            layers.append(Bottleneck(channels, width, 2 if stage > 0 and block == 0 else 1))
            channels = 4 * width
    network = nn.Sequential(*layers)
    # Statistics other than 0 and 1, so that folding is not trivial. The last scale of a branch is small, so that maps do not grow.
    for module in network.modules():
        if isinstance(module, nn.BatchNorm2d):
            nn.init.uniform_(module.weight, 0.5, 1.5)
            nn.init.uniform_(module.bias, -0.1, 0.1)
            nn.init.uniform_(module.running_mean, -0.1, 0.1)
            nn.init.uniform_(module.running_var, 0.5, 1.5)
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_uniform_(module.weight, nonlinearity="relu")
    for module in network.modules():
        if isinstance(module, Bottleneck):
            nn.init.uniform_(module.branch[-1][1].weight, 0.1, 0.3)
    return network.eval()
